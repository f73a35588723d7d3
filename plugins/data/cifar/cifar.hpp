// The data plugin `cifar`: CIFAR-10 and CIFAR-100, binary version. All pictures are held in memory; augmentation is
// crop_flip.hpp's.
// Not the Python version (pickles are never read).
#pragma once

#include "records.hpp"

#include <convoy/sdk/dataset.hpp>

#include <memory>
#include <string>

namespace convoy::cifar {

class Cifar final : public sdk::Dataset {
 public:
  static constexpr const char* schema =
      "path : string # folder with data_batch_1.bin ... data_batch_5.bin (those that exist) and test_batch.bin, or "
      "with train.bin and test.bin (CIFAR-100); or one such file, for training\n"
      "variant : string = \"auto\" [\"auto\"|\"cifar10\"|\"cifar100\"] # auto: by the names of the files\n";

  /// Opens nothing yet.
  explicit Cifar(const Options& o);

  DatasetInfo prepare(const ModelSpec& wanted, const ModelSpec& made_for) override;
  int32_t load(const sdk::Sample& s, void* image) const override;
  std::string describe(Split split, uint64_t index) const override;

 private:
  const Records& of(Split split) const { return split == Split::train ? *train_ : *eval_; }

  std::string path_;
  std::string variant_name_;
  std::unique_ptr<Records> train_, eval_;
};

}  // namespace convoy::cifar
