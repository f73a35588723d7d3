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

/// Checks attributes, fills in the input size, and returns the output's shape.
inline std::vector<int64_t> infer_pool(Inference& n) {
  n.need_rank(0, 4);
  auto a = n.attrs<PoolAttrs>();
  const auto& x = n.in(0).dims;
  for (int i = 0; i < 2; ++i) {
    n.need_positive("window", a.window[i]);
    n.need_positive("stride", a.stride[i]);
    if (a.pad_lo[i] < 0 || a.pad_hi[i] < 0 || a.pad_lo[i] >= a.window[i] || a.pad_hi[i] >= a.window[i])
      n.refuse(fmt::format("padding {} and {} around a window of {}; 0 to {} is allowed", a.pad_lo[i], a.pad_hi[i],
                           a.window[i], a.window[i] - 1));
    if (a.input_size[i] != 0 && a.input_size[i] != x[2 + i])
      n.refuse(fmt::format("the input size is given as {} and is {}", a.input_size[i], x[2 + i]));
    a.input_size[i] = static_cast<int32_t>(x[2 + i]);
  }
  const int64_t p = pooled_size(a, 0), q = pooled_size(a, 1);
  if (p < 1 || q < 1) n.refuse(fmt::format("a {}x{} window does not fit into {}x{}", a.window[0], a.window[1], x[2], x[3]));
  n.set_attrs(a);
  return {x[0], x[1], p, q};
}

}  // namespace convoy::ir
