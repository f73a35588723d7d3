// The part of the input that a pooling window covers.
#pragma once

#include <convoy/ops.hpp>

#include <algorithm>
#include <cstdint>

namespace convoy::reference {

/// Rows (or columns) [begin, end) inside the input; `padded` counts those inside the padded input too.
struct PoolSpan {
  PoolSpan(const PoolAttrs& a, int axis, int64_t out, int64_t input) {
    const int64_t start = out * a.stride[axis] - a.pad_lo[axis];
    const int64_t stop = std::min<int64_t>(start + a.window[axis], input + a.pad_hi[axis]);
    padded = stop - start;
    begin = std::max<int64_t>(start, 0);
    end = std::min(stop, input);
  }
  int64_t begin, end, padded;
};

/// Calls f(plane of x, y index, rows, columns) for every output element.
template <class F>
void for_each_window(const PoolAttrs& a, const std::vector<int64_t>& x, const std::vector<int64_t>& y, F f) {
  for (int64_t plane = 0; plane < x[0] * x[1]; ++plane)
    for (int64_t p = 0; p < y[2]; ++p)
      for (int64_t q = 0; q < y[3]; ++q)
        f(plane * x[2] * x[3], (plane * y[2] + p) * y[3] + q, PoolSpan(a, 0, p, x[2]), PoolSpan(a, 1, q, x[3]));
}

}  // namespace convoy::reference
