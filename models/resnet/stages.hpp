// What the ImageNet ResNets share: how many blocks a depth has, and of which kind. He et al. 2016, table 1.
// No layer is built here.
#pragma once

#include <convoy/sdk/plugin.hpp>

#include <array>
#include <cstdint>
#include <string>

namespace convoy::resnet {

struct Stages {
  std::array<int, 4> blocks;
  bool bottleneck;  // 1x1, 3x3, 1x1 with four times as many channels at the end; else 3x3, 3x3

  /// Channels that leave stage 0..3.
  int64_t channels(std::size_t stage) const { return int64_t{64 << stage} * (bottleneck ? 4 : 1); }
  /// Channels inside a block of stage 0..3.
  static int64_t width(std::size_t stage) { return int64_t{64 << stage}; }
};

inline Stages stages_of(int64_t depth) {
  switch (depth) {
    case 18: return {{2, 2, 2, 2}, false};
    case 34: return {{3, 4, 6, 3}, false};
    case 50: return {{3, 4, 6, 3}, true};
    case 101: return {{3, 4, 23, 3}, true};
    case 152: return {{3, 8, 36, 3}, true};
    default: throw sdk::Error(Code::internal, "no stages for depth " + std::to_string(depth));
  }
}

}  // namespace convoy::resnet
