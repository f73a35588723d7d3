// bias_add along dimension 1, and its gradient, the sum over all others.
#include "kernels.hpp"

namespace convoy::reference {

namespace {

/// Elements behind dimension 1.
int64_t inner_of(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (std::size_t i = 2; i < dims.size(); ++i) n *= dims[i];
  return n;
}

void add(const KernelArgs& a) {
  const auto& dims = a.node.in[0].dims;
  const int64_t inner = inner_of(dims), C = dims[1], total = a.node.in[0].elements();
  for (int64_t i = 0; i < total; ++i) a.out<Scalar>(0)[i] = a.in<Scalar>(0)[i] + a.in<Scalar>(1)[i / inner % C];
}

void grad(const KernelArgs& a) {
  const auto& dims = a.node.in[0].dims;
  const int64_t inner = inner_of(dims), C = dims[1];
  for (int64_t c = 0; c < C; ++c) {
    double sum = 0;
    for (int64_t n = 0; n < dims[0]; ++n)
      for (int64_t i = 0; i < inner; ++i) sum += static_cast<double>(a.in<Scalar>(0)[(n * C + c) * inner + i]);
    a.out<Scalar>(0)[c] = static_cast<Scalar>(sum);
  }
}

}  // namespace

sdk::KernelTable bias_kernels() { return {{Op::bias_add, add}, {Op::bias_grad, grad}}; }

}  // namespace convoy::reference
