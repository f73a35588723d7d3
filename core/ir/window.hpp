// Output sizes of sliding windows, one rule for convolutions and pools.
// P = floor or ceil((H + lo + hi - dilation (R - 1) - 1) / stride) + 1: PyTorch's and MXNet's rule.
#pragma once

#include <cstdint>

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

/// Less than 1 where the window does not fit.
inline int64_t output_size(const Window& w) {
  const int64_t room = w.input + w.pad_lo + w.pad_hi - w.dilation * (w.window - 1) - 1;
  if (room < 0) return 0;
  if (!w.ceil_mode) return room / w.stride + 1;
  const int64_t out = (room + w.stride - 1) / w.stride + 1;
  // A last window that would begin in the high padding is left out (PyTorch's pooling_output_shape).
  return (out - 1) * w.stride >= w.input + w.pad_lo ? out - 1 : out;
}

}  // namespace convoy::ir
