// linear: y = x w^T, and its gradients dx = dy w, dw = dy^T x. Weights are (out, in), as in PyTorch.
#include "kernels.hpp"

namespace convoy::reference {

namespace {

/// out[i,j] = sum over k of a(i,k) b(k,j).
template <class A, class B>
void multiply(int64_t rows, int64_t cols, int64_t inner, A a, B b, Scalar* out) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < inner; ++k) sum += static_cast<double>(a(i, k)) * static_cast<double>(b(k, j));
      out[i * cols + j] = static_cast<Scalar>(sum);
    }
}

void forward(const KernelArgs& a) {
  const int64_t N = a.node.in[0].dims[0], I = a.node.in[0].dims[1], O = a.node.in[1].dims[0];
  const auto *x = a.in<Scalar>(0), *w = a.in<Scalar>(1);
  multiply(N, O, I, [=](int64_t n, int64_t i) { return x[n * I + i]; },
           [=](int64_t i, int64_t o) { return w[o * I + i]; }, a.out<Scalar>(0));
}

void dgrad(const KernelArgs& a) {
  const int64_t N = a.node.in[0].dims[0], O = a.node.in[0].dims[1], I = a.node.in[1].dims[1];
  const auto *dy = a.in<Scalar>(0), *w = a.in<Scalar>(1);
  multiply(N, I, O, [=](int64_t n, int64_t o) { return dy[n * O + o]; },
           [=](int64_t o, int64_t i) { return w[o * I + i]; }, a.out<Scalar>(0));
}

void wgrad(const KernelArgs& a) {
  const int64_t N = a.node.in[0].dims[0], O = a.node.in[0].dims[1], I = a.node.in[1].dims[1];
  const auto *dy = a.in<Scalar>(0), *x = a.in<Scalar>(1);
  multiply(O, I, N, [=](int64_t o, int64_t n) { return dy[n * O + o]; },
           [=](int64_t n, int64_t i) { return x[n * I + i]; }, a.out<Scalar>(0));
}

}  // namespace

sdk::KernelTable linear_kernels() {
  return {{Op::linear, forward}, {Op::linear_dgrad, dgrad}, {Op::linear_wgrad, wgrad}};
}

}  // namespace convoy::reference
