// The files of CIFAR's "binary version": which there are, their record layout, and their checked contents.
// A. Krizhevsky, "Learning Multiple Layers of Features from Tiny Images", 2009. No augmentation, no splits' use.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace convoy::cifar {

constexpr uint32_t kSide = 32;
constexpr uint32_t kPixels = 3 * kSide * kSide;  // bytes: red, green, blue plane, row by row

/// One record is `label_bytes` labels, of which the last counts, then kPixels bytes.
struct Variant {
  const char* name;
  uint32_t label_bytes;
  uint32_t classes;
  float mean[3];   // of the training split, 0..255
  float stdev[3];

  std::size_t record() const { return label_bytes + std::size_t{kPixels}; }
};

extern const Variant kCifar10;
extern const Variant kCifar100;

/// Records of several files, one after the other.
class Records {
 public:
  explicit Records(const Variant& variant) : variant_(&variant) {}

  /// Appends a file. Errors: sdk::Error(io), "FILE: REASON", where its size is no whole number of records (the
  /// broken one is named, counting from 0) or a label is out of range.
  void read(const std::string& path);

  uint64_t count() const { return bytes_.size() / variant_->record(); }
  int32_t label(uint64_t i) const { return bytes_[i * variant_->record() + variant_->label_bytes - 1]; }
  const unsigned char* pixels(uint64_t i) const {
    return bytes_.data() + i * variant_->record() + variant_->label_bytes;
  }
  /// "data_batch_1.bin#12"
  std::string describe(uint64_t i) const;

 private:
  const Variant* variant_;
  std::vector<unsigned char> bytes_;
  std::vector<std::pair<uint64_t, std::string>> starts_;  // first record and name of each file
};

}  // namespace convoy::cifar
