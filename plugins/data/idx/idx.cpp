// The data plugin `idx`: which files, whether they fit together, and their pictures.
#include "idx.hpp"

#include "idx_file.hpp"

#include <convoy/sdk/file.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace convoy::idx {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPictures = "images-idx3-ubyte";
constexpr const char* kLabels = "labels-idx1-ubyte";
// Of MNIST's 60,000 training pictures (0.1307 and 0.3081 of 255 in PyTorch's examples). Also what other data get that
// share the format: any constants do, as long as training and evaluation have the same.
constexpr float kMnistMean = 33.3184f;
constexpr float kMnistStdev = 78.5675f;

/// The classic file in `folder`, plain before packed; empty where there is neither.
std::string find_classic(const std::string& folder, const std::string& name) {
  for (const char* ending : {"", ".gz"}) {
    const fs::path candidate = fs::path(folder) / (name + ending);
    std::error_code ignored;
    if (fs::exists(candidate, ignored)) return candidate.string();
  }
  return {};
}

/// train-images-idx3-ubyte.gz -> train-labels-idx1-ubyte.gz
std::string labels_beside(const std::string& pictures) {
  const std::size_t at = pictures.rfind(kPictures);
  if (at == std::string::npos)
    sdk::bad_file(pictures, std::string("its labels are not known, as '") + kPictures +
                                "' is no part of its name; say train_images and train_labels");
  std::string out = pictures;
  return out.replace(at, std::strlen(kPictures), kLabels);
}

LabelledPictures read_split(const std::string& pictures, const std::string& labels) {
  IdxFile p = read_idx(pictures, 3);
  IdxFile l = read_idx(labels, 1);
  if (p.dims[0] != l.dims[0])
    sdk::bad_file(labels, "has " + std::to_string(l.dims[0]) + " labels for the " + std::to_string(p.dims[0]) +
                              " pictures of " + pictures);
  if (p.values.empty()) sdk::bad_file(pictures, "holds no pictures");
  return {fs::path(pictures).filename().string(), p.dims[1], p.dims[2], std::move(p.values), std::move(l.values)};
}

LabelledPictures read_if_named(const std::string& pictures, const std::string& labels, const char* split) {
  if (pictures.empty() && labels.empty()) return {};
  if (pictures.empty() || labels.empty())
    throw sdk::Error(Code::io, std::string(split) + ": there is " + (pictures.empty() ? labels : pictures) +
                                   ", but its " + (pictures.empty() ? "pictures are" : "labels are") +
                                   " missing beside it");
  return read_split(pictures, labels);
}

uint32_t classes_of(const LabelledPictures& p) {
  const auto largest = std::max_element(p.labels.begin(), p.labels.end());
  return largest == p.labels.end() ? 0 : *largest + 1u;
}

/// `classes`: of the experiment, 0 where it does not say.
void refuse_label_outside(const LabelledPictures& p, const std::string& file, uint32_t classes) {
  const auto outside = std::find_if(p.labels.begin(), p.labels.end(), [classes](auto label) { return label >= classes; });
  if (classes != 0 && outside != p.labels.end())
    sdk::bad_file(file, "record " + std::to_string(outside - p.labels.begin()) + " has label " + std::to_string(*outside) +
                            "; the experiment has " + std::to_string(classes) + " classes");
}

}  // namespace

Idx::Idx(const Options& o)
    : path_(sdk::get(o, "path", "")),
      train_images_(sdk::get(o, "train_images", "")),
      train_labels_(sdk::get(o, "train_labels", "")),
      eval_images_(sdk::get(o, "eval_images", "")),
      eval_labels_(sdk::get(o, "eval_labels", "")) {}

void Idx::locate() {
  if (path_.empty()) return;
  std::error_code ignored;
  if (!fs::is_directory(path_, ignored)) {
    locate_beside();
    return;
  }
  const auto use = [&](std::string& file, const std::string& name) {
    if (file.empty()) file = find_classic(path_, name);
  };
  use(train_images_, std::string("train-") + kPictures);
  use(train_labels_, std::string("train-") + kLabels);
  use(eval_images_, std::string("t10k-") + kPictures);
  use(eval_labels_, std::string("t10k-") + kLabels);
}

void Idx::locate_beside() {
  if (!train_images_.empty()) return;
  train_images_ = path_;
  read_idx(path_, 3);  // what is wrong with this file is said before anything about its labels
  if (train_labels_.empty()) train_labels_ = labels_beside(path_);
}

void Idx::require_same_size() const {
  if (train_.count() == 0 && eval_.count() == 0)
    throw sdk::Error(Code::io, path_.empty() ? "path is not set: the folder with train-images-idx3-ubyte[.gz] ..."
                                             : path_ + ": neither train-images-idx3-ubyte[.gz] nor "
                                                       "t10k-images-idx3-ubyte[.gz] is there");
  if (train_.count() == 0 || eval_.count() == 0) return;
  if (eval_.height != train_.height || eval_.width != train_.width)
    sdk::bad_file(eval_images_, "its pictures are " + sdk::image_text(1, eval_.height, eval_.width) + ", those of " +
                                    train_images_ + " are " + sdk::image_text(1, train_.height, train_.width));
}

DatasetInfo Idx::prepare(const ModelSpec& wanted, const ModelSpec&) {
  locate();
  train_ = read_if_named(train_images_, train_labels_, "train");
  eval_ = read_if_named(eval_images_, eval_labels_, "eval");
  require_same_size();
  refuse_label_outside(train_, train_labels_, wanted.classes);
  refuse_label_outside(eval_, eval_labels_, wanted.classes);

  const LabelledPictures& any = train_.count() != 0 ? train_ : eval_;
  auto d = sdk::sized<DatasetInfo>();
  d.channels = 1;
  d.height = any.height;
  d.width = any.width;
  d.classes = std::max(classes_of(train_), classes_of(eval_));
  d.dtype = DType::u8;
  d.train = train_.count();
  d.eval = eval_.count();
  d.mean[0] = kMnistMean;
  d.stdev[0] = kMnistStdev;
  return d;
}

int32_t Idx::load(const sdk::Sample& s, void* image) const {
  const LabelledPictures& p = of(s.split);
  const std::size_t bytes = std::size_t{p.height} * p.width;
  std::memcpy(image, p.pixels.data() + s.index * bytes, bytes);
  return p.labels[s.index];
}

std::string Idx::describe(Split split, uint64_t index) const { return of(split).file + "#" + std::to_string(index); }

}  // namespace convoy::idx

CONVOY_PLUGIN(dataset, convoy::idx::Idx, "idx")
