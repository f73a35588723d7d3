// The data plugin `image_folder`: sizes, samples, and what takes the place of a bad one.
#include "image_folder.hpp"

#include "bad_picture.hpp"
#include "crop.hpp"
#include "decode.hpp"

#include <convoy/sdk/file.hpp>
#include <convoy/sdk/philox.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace convoy::image_folder {
namespace {

constexpr uint32_t kSide = 224;                 // where neither experiment nor model says
constexpr uint32_t kLargestSide = 8192;
constexpr double kMiddle = 224.0 / 256.0;       // share of the shorter side that evaluation sees
constexpr uint64_t kMegabyte = 1'000'000;
// Of ImageNet's training pictures: 0.485 0.456 0.406 and 0.229 0.224 0.225 of 255, as everybody has them.
constexpr float kMean[3] = {123.675f, 116.28f, 103.53f};
constexpr float kStdev[3] = {58.395f, 57.12f, 57.375f};

uint32_t first_of(uint32_t a, uint32_t b) { return a != 0 ? a : b != 0 ? b : kSide; }

}  // namespace

ImageFolder::ImageFolder(const Options& o)
    : path_(sdk::get(o, "path", "")),
      train_name_(sdk::get(o, "train", "")),
      eval_name_(sdk::get(o, "eval", "")),
      resize_(static_cast<uint32_t>(sdk::get(o, "resize", 0))),
      min_area_(sdk::get(o, "min_area", 0.08)),
      flip_(sdk::get(o, "flip", true)),
      bounds_{sdk::get(o, "max_bad", 0.001), static_cast<uint64_t>(sdk::get(o, "max_bad_in_a_row", 20))},
      limits_{static_cast<uint64_t>(sdk::get(o, "max_pixels", 100'000'000))},
      cache_bytes_(static_cast<uint64_t>(sdk::get(o, "cache_mb", 256)) * kMegabyte) {
  if (sdk::get(o, "on_bad", "skip") == "stop") bounds_ = {};
}

void ImageFolder::choose_size(const ModelSpec& wanted, const ModelSpec& made_for, DatasetInfo& d) const {
  d.channels = 3;
  d.height = first_of(wanted.height, made_for.height);
  d.width = first_of(wanted.width, made_for.width);
  if (std::max(d.height, d.width) > kLargestSide)
    throw sdk::Error(Code::invalid, "pictures of " + sdk::image_text(3, d.height, d.width) + " are demanded; sides up to " +
                                        std::to_string(kLargestSide) + " are made");
}

DatasetInfo ImageFolder::prepare(const ModelSpec& wanted, const ModelSpec& made_for) {
  auto d = sdk::sized<DatasetInfo>();
  choose_size(wanted, made_for, d);
  const uint32_t side = std::max(d.height, d.width);
  shorter_ = resize_ != 0 ? resize_ : static_cast<uint32_t>(std::lround(side / kMiddle));
  if (shorter_ < side)
    throw sdk::Error(Code::invalid, "resize = " + std::to_string(shorter_) + " is less than the side of the pictures, " +
                                        std::to_string(side));
  found_ = list_pictures(path_, train_name_, eval_name_);
  for (const std::string& note : found_.notes) sdk::host().log(1, sdk::str("image_folder"), sdk::str(note));
  cache_ = std::make_unique<Cache>(cache_bytes_, found_.train.size() + found_.eval.size());
  bad_ = std::make_unique<BadSamples>(bounds_, found_.train.size(), found_.eval.size());
  d.classes = found_.n_classes;
  d.dtype = DType::u8;
  d.train = found_.train.size();
  d.eval = found_.eval.size();
  std::copy_n(kMean, 3, d.mean);
  std::copy_n(kStdev, 3, d.stdev);
  return d;
}

std::shared_ptr<const Picture> ImageFolder::picture(Split s, uint64_t i) const {
  const uint64_t place = s == Split::train ? i : found_.train.size() + i;
  if (auto kept = cache_->find(place)) return kept;
  auto read = std::make_shared<const Picture>(read_picture(file_of(s, i), limits_));
  cache_->offer(place, read);
  return read;
}

/// The picture, or null where it is bad.
std::shared_ptr<const Picture> ImageFolder::usable(Split s, uint64_t i) const {
  if (bad_->known(s, i)) return nullptr;
  try {
    return picture(s, i);
  } catch (const BadPicture& e) {
    bad_->add(s, i, file_of(s, i), e.what());
    return nullptr;
  }
}

int32_t ImageFolder::load(const sdk::Sample& s, void* image) const {
  auto* out = static_cast<unsigned char*>(image);
  const uint64_t n = s.split == Split::train ? found_.train.size() : found_.eval.size();
  const uint64_t tries = s.split == Split::train ? n : 1;
  for (uint64_t k = 0; k < tries; ++k) {
    const uint64_t i = (s.index + k) % n;
    if (const auto p = usable(s.split, i)) {
      write(*p, s, out);
      return entry(s.split, i).label;
    }
  }
  if (s.split == Split::train) sdk::bad_file(path_, "none of the training pictures can be read");
  std::memset(out, 0, sdk::image_bytes(info()));
  return -1;
}

void ImageFolder::write(const Picture& p, const sdk::Sample& s, unsigned char* image) const {
  const uint32_t height = info().height, width = info().width;
  if (!s.augment || s.split != Split::train) {
    resize(p, middle(p.width, p.height, shorter_, width, height), false, image);
    return;
  }
  sdk::Random random(s.seed, sdk::RandomUse::augment, static_cast<uint32_t>(s.epoch), s.index);
  const bool mirrored = flip_ && random.below(2) == 1;
  resize(p, random_part(p.width, p.height, min_area_, width, height, random), mirrored, image);
}

std::string ImageFolder::describe(Split split, uint64_t index) const { return entry(split, index).file; }

}  // namespace convoy::image_folder

CONVOY_PLUGIN(dataset, convoy::image_folder::ImageFolder, "image_folder")
