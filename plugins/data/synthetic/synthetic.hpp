// The data plugin `synthetic`: random pictures and labels of any shape, for measuring without input from disk.
// Nothing can be learnt from it.
#pragma once

#include <convoy/sdk/dataset.hpp>

#include <string>

namespace convoy::synthetic {

/// A sample depends on (run's seed, split, index). Its shape is what the experiment demands, else what the
/// model was made for.
class Synthetic final : public sdk::Dataset {
 public:
  static constexpr const char* schema =
      "train : int = 50000 [0..] # training samples\n"
      "eval : int = 10000 [0..] # evaluation samples\n"
      "dtype : string = \"f32\" [\"f32\"|\"u8\"] # f32: uniform, mean 0, variance 1; u8: 0..255, normalised on "
      "the device\n";

  explicit Synthetic(const Options& o);

  DatasetInfo prepare(const ModelSpec& wanted, const ModelSpec& made_for) override;
  int32_t load(const sdk::Sample& s, void* image) const override;
  std::string describe(Split split, uint64_t index) const override;

 private:
  uint64_t train_;
  uint64_t eval_;
  std::string dtype_;
};

}  // namespace convoy::synthetic
