// max_pool: y = the largest element of the window, padding left out; dx gives dy to the first of them in row-major
// order. Windows: convoy/ops.hpp, the rule of PyTorch and MXNet.
#include "kernels.hpp"
#include "pool_window.hpp"

#include <algorithm>

namespace convoy::reference {

namespace {

/// Index within the plane of the window's first maximum; a NaN wins, as in PyTorch.
int64_t first_maximum(const Scalar* plane, int64_t width, const PoolSpan& rows, const PoolSpan& cols) {
  int64_t best = rows.begin * width + cols.begin;
  for (int64_t h = rows.begin; h < rows.end; ++h)
    for (int64_t w = cols.begin; w < cols.end; ++w) {
      const Scalar v = plane[h * width + w];
      if (v > plane[best] || (v != v && plane[best] == plane[best])) best = h * width + w;
    }
  return best;
}

void forward(const KernelArgs& a) {
  const auto& x = a.node.in[0].dims;
  for_each_window(a.node.attrs<PoolAttrs>(), x, a.node.out[0].dims,
                  [&](int64_t plane, int64_t y, const PoolSpan& rows, const PoolSpan& cols) {
    a.out<Scalar>(0)[y] = a.in<Scalar>(0)[plane + first_maximum(a.in<Scalar>(0) + plane, x[3], rows, cols)];
  });
}

void grad(const KernelArgs& a) {
  const auto& x = a.node.in[1].dims;
  std::fill_n(a.out<Scalar>(0), a.node.in[1].elements(), Scalar{0});
  for_each_window(a.node.attrs<PoolAttrs>(), x, a.node.in[0].dims,
                  [&](int64_t plane, int64_t y, const PoolSpan& rows, const PoolSpan& cols) {
    a.out<Scalar>(0)[plane + first_maximum(a.in<Scalar>(1) + plane, x[3], rows, cols)] += a.in<Scalar>(0)[y];
  });
}

}  // namespace

sdk::KernelTable max_pool_kernels() { return {{Op::max_pool, forward}, {Op::max_pool_grad, grad}}; }

}  // namespace convoy::reference
