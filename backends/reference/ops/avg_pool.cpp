// avg_pool: y = sum of the window / divisor, dx = dy / divisor over the window. The divisor counts padding or not;
// what hangs over the padded input in ceil mode never counts (PyTorch's convention).
#include "kernels.hpp"
#include "pool_window.hpp"

#include <algorithm>

namespace convoy::reference {

namespace {

double divisor(const PoolAttrs& a, const PoolSpan& rows, const PoolSpan& cols) {
  if (a.count_include_pad != 0) return static_cast<double>(rows.padded * cols.padded);
  return static_cast<double>((rows.end - rows.begin) * (cols.end - cols.begin));
}

void forward(const KernelArgs& a) {
  const auto attrs = a.node.attrs<PoolAttrs>();
  const auto& x = a.node.in[0].dims;
  for_each_window(attrs, x, a.node.out[0].dims,
                  [&](int64_t plane, int64_t y, const PoolSpan& rows, const PoolSpan& cols) {
    double sum = 0;
    for (int64_t h = rows.begin; h < rows.end; ++h)
      for (int64_t w = cols.begin; w < cols.end; ++w)
        sum += static_cast<double>(a.in<Scalar>(0)[plane + h * x[3] + w]);
    a.out<Scalar>(0)[y] = static_cast<Scalar>(sum / divisor(attrs, rows, cols));
  });
}

void grad(const KernelArgs& a) {
  const auto attrs = a.node.attrs<PoolAttrs>();
  const auto& x = a.node.out[0].dims;
  std::fill_n(a.out<Scalar>(0), a.node.out[0].elements(), Scalar{0});
  for_each_window(attrs, x, a.node.in[0].dims,
                  [&](int64_t plane, int64_t y, const PoolSpan& rows, const PoolSpan& cols) {
    const auto share = static_cast<Scalar>(static_cast<double>(a.in<Scalar>(0)[y]) / divisor(attrs, rows, cols));
    for (int64_t h = rows.begin; h < rows.end; ++h)
      for (int64_t w = cols.begin; w < cols.end; ++w) a.out<Scalar>(0)[plane + h * x[3] + w] += share;
  });
}

}  // namespace

sdk::KernelTable avg_pool_kernels() { return {{Op::avg_pool, forward}, {Op::avg_pool_grad, grad}}; }

}  // namespace convoy::reference
