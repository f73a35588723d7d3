// Sizes of sliding windows, one rule for convolutions and pools.
// P = floor or ceil((H + lo + hi - dilation (R - 1) - 1) / stride) + 1: PyTorch's and MXNet's rule.
#pragma once

#include "ir/op_rule.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <limits>

namespace convoy::ir {

struct Window {
  int64_t input = 0;
  int64_t window = 1;
  int64_t stride = 1;
  int64_t pad_lo = 0;
  int64_t pad_hi = 0;
  int64_t dilation = 1;
  bool ceil_mode = false;
};

/// 0 where the window does not fit. Every field is below 2^31, so nothing overflows.
inline int64_t output_size(const Window& w) {
  const int64_t room = w.input + w.pad_lo + w.pad_hi - w.dilation * (w.window - 1) - 1;
  if (room < 0) return 0;
  if (!w.ceil_mode) return room / w.stride + 1;
  const int64_t out = (room + w.stride - 1) / w.stride + 1;
  // A last window that would begin in the high padding is left out (PyTorch's pooling_output_shape).
  return (out - 1) * w.stride >= w.input + w.pad_lo ? out - 1 : out;
}

/// Height and width out of (.., .., height, width): fills in an attribute that the author left 0, refuses one
/// that says otherwise, or a size that the attribute cannot hold.
inline void take_size(const Inference& n, const char* what, int32_t (&attr)[2], const std::vector<int64_t>& dims) {
  const int64_t size[2] = {dims[2], dims[3]};
  for (int i = 0; i < 2; ++i) {
    if (size[i] > std::numeric_limits<int32_t>::max())
      n.refuse(fmt::format("{} is {}x{}; 2147483647 is the most either way", what, size[0], size[1]));
    if (attr[i] != 0 && attr[i] != size[i])
      n.refuse(fmt::format("{} is given as {}x{} and is {}x{}", what, attr[0], attr[1], size[0], size[1]));
  }
  for (int i = 0; i < 2; ++i) attr[i] = static_cast<int32_t>(size[i]);
}

}  // namespace convoy::ir
