// The data plugin `cifar`: which files make which split, and which variant they are.
#include "cifar.hpp"

#include "crop_flip.hpp"

#include <convoy/sdk/file.hpp>
#include <convoy/sdk/philox.hpp>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <vector>

namespace convoy::cifar {
namespace {

namespace fs = std::filesystem;

struct Files {
  std::vector<std::string> train, eval;
  bool found() const { return !train.empty() || !eval.empty(); }
};

bool is_there(const fs::path& p) {
  std::error_code ignored;
  return fs::exists(p, ignored);
}

Files cifar10_files(const fs::path& folder) {
  Files out;
  for (int i = 1; i <= 5; ++i) {
    const fs::path p = folder / ("data_batch_" + std::to_string(i) + ".bin");
    if (is_there(p)) out.train.push_back(p.string());
  }
  if (is_there(folder / "test_batch.bin")) out.eval.push_back((folder / "test_batch.bin").string());
  return out;
}

Files cifar100_files(const fs::path& folder) {
  Files out;
  if (is_there(folder / "train.bin")) out.train.push_back((folder / "train.bin").string());
  if (is_there(folder / "test.bin")) out.eval.push_back((folder / "test.bin").string());
  return out;
}

struct Found {
  const Variant* variant;
  Files files;
};

Found find_in_folder(const std::string& path, const std::string& variant) {
  const Files ten = cifar10_files(path), hundred = cifar100_files(path);
  if (variant == "auto" && ten.found() && hundred.found())
    sdk::bad_file(path, "holds files of CIFAR-10 and of CIFAR-100; say variant = \"cifar10\" or \"cifar100\"");
  if (variant != "cifar100" && ten.found()) return {&kCifar10, ten};
  if (variant != "cifar10" && hundred.found()) return {&kCifar100, hundred};
  sdk::bad_file(path, variant == "cifar100" ? "neither train.bin nor test.bin is there"
                      : variant == "cifar10" ? "neither data_batch_1.bin ... data_batch_5.bin nor test_batch.bin is there"
                                             : "neither data_batch_1.bin ..., test_batch.bin (CIFAR-10) nor train.bin, "
                                               "test.bin (CIFAR-100) is there");
}

Found find(const std::string& path, const std::string& variant) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return find_in_folder(path, variant);
  const std::string name = fs::path(path).filename().string();
  const bool hundred = variant == "cifar100" || (variant == "auto" && (name == "train.bin" || name == "test.bin"));
  return {hundred ? &kCifar100 : &kCifar10, {{path}, {}}};
}

}  // namespace

Cifar::Cifar(const Options& o)
    : path_(sdk::get(o, "path", "")),
      variant_name_(sdk::get(o, "variant", "auto")) {
  if (variant_name_ != "auto" && variant_name_ != "cifar10" && variant_name_ != "cifar100")
    throw sdk::Error(Code::invalid, "variant = \"" + variant_name_ +
                                        "\": known are \"auto\", \"cifar10\" and \"cifar100\"");
}

DatasetInfo Cifar::prepare(const ModelSpec&, const ModelSpec&) {
  const Found found = find(path_, variant_name_);
  train_ = std::make_unique<Records>(*found.variant);
  eval_ = std::make_unique<Records>(*found.variant);
  for (const std::string& f : found.files.train) train_->read(f);
  for (const std::string& f : found.files.eval) eval_->read(f);

  auto d = sdk::sized<DatasetInfo>();
  d.channels = 3;
  d.height = kSide;
  d.width = kSide;
  d.classes = found.variant->classes;
  d.dtype = DType::u8;
  d.train = train_->count();
  d.eval = eval_->count();
  std::copy_n(found.variant->mean, 3, d.mean);
  std::copy_n(found.variant->stdev, 3, d.stdev);
  return d;
}

int32_t Cifar::load(const sdk::Sample& s, void* image) const {
  const Records& records = of(s.split);
  auto* out = static_cast<unsigned char*>(image);
  if (s.augment && s.split == Split::train) {
    sdk::Random random(s.seed, sdk::RandomUse::augment, static_cast<uint32_t>(s.epoch), s.index);
    crop_and_flip(records.pixels(s.index), out, random);
  } else {
    std::memcpy(out, records.pixels(s.index), kPixels);
  }
  return records.label(s.index);
}

std::string Cifar::describe(Split split, uint64_t index) const { return of(split).describe(index); }

}  // namespace convoy::cifar

CONVOY_PLUGIN(dataset, convoy::cifar::Cifar, "cifar")
