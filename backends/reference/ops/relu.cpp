// relu: y = max(x, 0); dx = dy where y > 0, else 0.
#include "kernels.hpp"

namespace convoy::reference {

namespace {

void forward(const KernelArgs& a) {
  const int64_t n = a.node.in[0].elements();
  for (int64_t i = 0; i < n; ++i) {
    const Scalar x = a.in<Scalar>(0)[i];
    a.out<Scalar>(0)[i] = x < 0 ? Scalar{0} : x;  // a NaN stays one
  }
}

void grad(const KernelArgs& a) {
  const int64_t n = a.node.in[0].elements();
  for (int64_t i = 0; i < n; ++i) a.out<Scalar>(0)[i] = a.in<Scalar>(1)[i] > 0 ? a.in<Scalar>(0)[i] : Scalar{0};
}

}  // namespace

sdk::KernelTable relu_kernels() { return {{Op::relu, forward}, {Op::relu_grad, grad}}; }

}  // namespace convoy::reference
