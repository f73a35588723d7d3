// What max_pool and avg_pool share: their attributes' checks and output size.
#pragma once

#include "ir/op_rule.hpp"
#include "ir/window.hpp"

#include <convoy/ops.hpp>

#include <fmt/format.h>

namespace convoy::ir {

inline int64_t pooled_size(const PoolAttrs& a, int i) {
  return output_size({a.input_size[i], a.window[i], a.stride[i], a.pad_lo[i], a.pad_hi[i], 1, a.ceil_mode != 0});
}

/// Padding stays smaller than the window, so that each window sees at least one element of the input.
inline void check_pool(const Inference& n, const PoolAttrs& a) {
  for (int i = 0; i < 2; ++i) {
    n.need_positive("window", a.window[i]);
    n.need_positive("stride", a.stride[i]);
    if (a.pad_lo[i] < 0 || a.pad_hi[i] < 0 || a.pad_lo[i] >= a.window[i] || a.pad_hi[i] >= a.window[i])
      n.refuse(fmt::format("padding {} and {} around a window of {}; 0 to {} is allowed", a.pad_lo[i], a.pad_hi[i],
                           a.window[i], a.window[i] - 1));
  }
  if (pooled_size(a, 0) < 1 || pooled_size(a, 1) < 1)
    n.refuse(fmt::format("a {}x{} window does not fit into {}x{}", a.window[0], a.window[1], a.input_size[0],
                         a.input_size[1]));
}

/// Checks attributes, fills in the input size, and returns the output's shape.
inline std::vector<int64_t> infer_pool(Inference& n) {
  n.need_rank(0, 4);
  n.need_float(0);
  auto a = n.attrs<PoolAttrs>();
  take_size(n, "the input size", a.input_size, n.in(0).dims);
  check_pool(n, a);
  n.set_attrs(a);
  return {n.in(0).dims[0], n.in(0).dims[1], pooled_size(a, 0), pooled_size(a, 1)};
}

/// A gradient has the output's size.
inline void check_pool_grad(const Inference& n, const PoolAttrs& a) {
  n.need_rank(0, 4);
  n.need_float(0);
  check_pool(n, a);
  const auto& dy = n.in(0).dims;
  if (dy[2] != pooled_size(a, 0) || dy[3] != pooled_size(a, 1))
    n.refuse(fmt::format("the output gradient is {}x{}, the attributes give {}x{}", dy[2], dy[3], pooled_size(a, 0),
                         pooled_size(a, 1)));
}

}  // namespace convoy::ir
