// Reading CIFAR's files. Means and deviations of both variants are those of the 50,000 training pictures.
#include "records.hpp"

#include <convoy/sdk/file.hpp>

#include <filesystem>

namespace convoy::cifar {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{1} << 30;  // the largest real one, CIFAR-100's train.bin, has 154 MB

}  // namespace

// 0.4914 0.4822 0.4465 and 0.2470 0.2435 0.2616 of 255, the figures that PyTorch recipes use.
const Variant kCifar10{"cifar10", 1, 10, {125.307f, 122.961f, 113.858f}, {62.985f, 62.093f, 66.708f}};
// 0.5071 0.4865 0.4409 and 0.2673 0.2564 0.2762 of 255, likewise.
const Variant kCifar100{"cifar100", 2, 100, {129.311f, 124.058f, 112.430f}, {68.162f, 65.382f, 70.431f}};

void Records::read(const std::string& path) {
  const std::vector<unsigned char> found = sdk::read_file(path, kMaxFileBytes);
  const std::size_t record = variant_->record();
  const std::size_t whole = found.size() / record;
  const std::size_t rest = found.size() % record;
  if (rest != 0)
    sdk::bad_file(path, "cut short in record " + std::to_string(whole) + ": " + std::to_string(rest) + " of the " +
                            std::to_string(record) + " bytes of a " + variant_->name + " record");
  if (whole == 0) sdk::bad_file(path, "holds no records");
  for (std::size_t i = 0; i < whole; ++i) {
    const uint32_t label = found[i * record + variant_->label_bytes - 1];
    if (label >= variant_->classes)
      sdk::bad_file(path, "record " + std::to_string(i) + " has label " + std::to_string(label) + "; " +
                              variant_->name + " has " + std::to_string(variant_->classes) + " classes");
  }
  starts_.emplace_back(count(), std::filesystem::path(path).filename().string());
  bytes_.insert(bytes_.end(), found.begin(), found.end());
}

std::string Records::describe(uint64_t i) const {
  std::size_t file = starts_.size();
  while (file > 0 && starts_[file - 1].first > i) --file;
  if (file == 0) return "#" + std::to_string(i);
  return starts_[file - 1].second + "#" + std::to_string(i - starts_[file - 1].first);
}

}  // namespace convoy::cifar
