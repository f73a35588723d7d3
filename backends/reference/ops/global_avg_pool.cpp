// global_avg_pool: the mean of each plane; its gradient spreads evenly over it.
#include "kernels.hpp"

namespace convoy::reference {

namespace {

void forward(const KernelArgs& a) {
  const auto& x = a.node.in[0].dims;
  const int64_t area = x[2] * x[3];
  for (int64_t plane = 0; plane < x[0] * x[1]; ++plane) {
    double sum = 0;
    for (int64_t i = 0; i < area; ++i) sum += static_cast<double>(a.in<Scalar>(0)[plane * area + i]);
    a.out<Scalar>(0)[plane] = static_cast<Scalar>(sum / static_cast<double>(area));
  }
}

void grad(const KernelArgs& a) {
  const auto& x = a.node.out[0].dims;
  const int64_t area = x[2] * x[3], total = a.node.out[0].elements();
  for (int64_t i = 0; i < total; ++i)
    a.out<Scalar>(0)[i] = static_cast<Scalar>(static_cast<double>(a.in<Scalar>(0)[i / area]) / static_cast<double>(area));
}

}  // namespace

sdk::KernelTable global_avg_pool_kernels() { return {{Op::global_avg_pool, forward}, {Op::global_avg_pool_grad, grad}}; }

}  // namespace convoy::reference
