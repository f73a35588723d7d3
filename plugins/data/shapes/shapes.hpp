// The data plugin `shapes`: generated pictures of coloured figures, ten classes. It needs no file, and a network
// has to learn it: place, size, turn, colours, background and noise of each picture are random.
#pragma once

#include <convoy/sdk/dataset.hpp>

namespace convoy::shapes {

/// u8, 3 channels. A sample depends on (split, index) only, not on the run's seed: a data set that stays the
/// same, so that runs with different seeds and evaluations of stored weights see the same pictures.
class Shapes final : public sdk::Dataset {
 public:
  static constexpr const char* schema =
      "train : int = 16384 [0..] # training samples\n"
      "eval : int = 2048 [0..] # evaluation samples\n"
      "size : int = 0 [0..4096] # side in pixels; 0: what the experiment demands, else 32\n"
      "classes : int = 0 [0..10] # figures, in the order circle, square, triangle, cross, ring, star, frame, bar, "
      "half disc, crescent; 0: what the experiment demands, at most 10\n";

  explicit Shapes(const Options& o);

  DatasetInfo prepare(const ModelSpec& wanted, const ModelSpec& made_for) override;
  int32_t load(const sdk::Sample& s, void* image) const override;
  std::string describe(Split split, uint64_t index) const override;

 private:
  int32_t label_of(uint64_t index) const;

  uint64_t train_;
  uint64_t eval_;
  uint32_t size_;
  uint32_t classes_;
};

}  // namespace convoy::shapes
