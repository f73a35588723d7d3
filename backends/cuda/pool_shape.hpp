// What the pooling operators share: attributes and shapes as the kernels take them.
#pragma once

#include "lowering.hpp"

#include <span>

namespace convoy::cuda {

inline PoolShape pool_shape(const GraphIndex& g, uint32_t n, Value x, Value y) {
  need_rank(g, x, 4);
  const auto a = g.attrs<PoolAttrs>(n);
  const TensorDesc &xt = g.tensor(x), &yt = g.tensor(y);
  PoolShape s;
  s.n = xt.dim[0], s.c = xt.dim[1], s.h = xt.dim[2], s.w = xt.dim[3], s.p = yt.dim[2], s.q = yt.dim[3];
  for (int i = 0; i < 2; ++i) {
    s.window[i] = a.window[i], s.stride[i] = a.stride[i];
    s.pad_lo[i] = a.pad_lo[i], s.pad_hi[i] = a.pad_hi[i];
  }
  s.count_include_pad = a.count_include_pad != 0;
  return s;
}

}  // namespace convoy::cuda
