// Work that keeps a stream busy for a noticeable time, on any device: what a forgotten wait would overtake.
#pragma once

#include "devices.hpp"

#include <cstdint>

namespace convoy::contract {

/// Many passes over a buffer of its own. A device with delays of its own needs no more.
class SlowWork {
 public:
  explicit SlowWork(const exec::Device& d) : device_(d), buffer_(d, kBytes, d.compute_memory(), "slow work") {}
  void enqueue(Stream s) {
    for (int i = 0; i < kPasses; ++i) device_.check(device_.raw().fill(s, buffer_.get(), 0, kBytes, 0x11), "fill");
  }

 private:
  static constexpr uint64_t kBytes = 4 << 20;
  static constexpr int kPasses = 24;
  const exec::Device& device_;
  exec::DeviceBuffer buffer_;
};

}  // namespace convoy::contract
