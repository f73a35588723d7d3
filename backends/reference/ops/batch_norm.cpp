// Batch normalisation with batch and with running statistics, and its gradient: Ioffe and Szegedy 2015, section 3;
// running variance unbiased and eps inside the root as in PyTorch. The moments take two passes.
//   y = gamma (x - mean) / sqrt(var + eps) + beta; with n = N H W and xh = (x - mean) inv_std,
//   dbeta = sum dy; dgamma = sum dy xh; dx = gamma inv_std (dy - dbeta / n - xh dgamma / n)
#include "kernels.hpp"

#include <cmath>

namespace convoy::reference {

namespace {

struct Shape {
  explicit Shape(const std::vector<int64_t>& x) : N(x[0]), C(x[1]), L(x[2] * x[3]) {}
  int64_t N, C, L;

  /// Calls f(index) for every element of a channel.
  template <class F>
  void each(int64_t c, F f) const {
    for (int64_t n = 0; n < N; ++n)
      for (int64_t i = 0; i < L; ++i) f((n * C + c) * L + i);
  }
};

void normalise(const KernelArgs& a, const Shape& d, int64_t c, double mean, double inv_std) {
  const double gamma = a.in<Scalar>(1)[c], beta = a.in<Scalar>(2)[c];
  d.each(c, [&](int64_t i) {
    const double off = static_cast<double>(a.in<Scalar>(0)[i]) - mean;
    a.out<Scalar>(0)[i] = static_cast<Scalar>(off * inv_std * gamma + beta);
  });
}

void train(const KernelArgs& a) {
  const Shape d(a.node.in[0].dims);
  const auto attrs = a.node.attrs<BatchNormAttrs>();
  const double count = static_cast<double>(d.N * d.L), m = attrs.momentum;
  for (int64_t c = 0; c < d.C; ++c) {
    double sum = 0, squares = 0;
    d.each(c, [&](int64_t i) { sum += static_cast<double>(a.in<Scalar>(0)[i]); });
    const double mean = sum / count;
    d.each(c, [&](int64_t i) {
      const double off = static_cast<double>(a.in<Scalar>(0)[i]) - mean;
      squares += off * off;
    });
    const double var = squares / count, inv_std = 1 / std::sqrt(var + attrs.eps);
    normalise(a, d, c, mean, inv_std);
    a.out<Scalar>(1)[c] = static_cast<Scalar>(mean);
    a.out<Scalar>(2)[c] = static_cast<Scalar>(inv_std);
    const double unbiased = count > 1 ? squares / (count - 1) : var;
    a.out<Scalar>(3)[c] = static_cast<Scalar>((1 - m) * static_cast<double>(a.in<Scalar>(3)[c]) + m * mean);
    a.out<Scalar>(4)[c] = static_cast<Scalar>((1 - m) * static_cast<double>(a.in<Scalar>(4)[c]) + m * unbiased);
  }
}

void infer(const KernelArgs& a) {
  const Shape d(a.node.in[0].dims);
  const double eps = a.node.attrs<BatchNormAttrs>().eps;
  for (int64_t c = 0; c < d.C; ++c)
    normalise(a, d, c, static_cast<double>(a.in<Scalar>(3)[c]),
              1 / std::sqrt(static_cast<double>(a.in<Scalar>(4)[c]) + eps));
}

void grad(const KernelArgs& a) {
  const Shape d(a.node.in[0].dims);
  const double count = static_cast<double>(d.N * d.L);
  const auto *dy = a.in<Scalar>(0), *x = a.in<Scalar>(1);
  for (int64_t c = 0; c < d.C; ++c) {
    const double gamma = a.in<Scalar>(2)[c], mean = a.in<Scalar>(3)[c], inv_std = a.in<Scalar>(4)[c];
    double dbeta = 0, dgamma = 0;
    d.each(c, [&](int64_t i) {
      dbeta += static_cast<double>(dy[i]);
      dgamma += static_cast<double>(dy[i]) * (static_cast<double>(x[i]) - mean) * inv_std;
    });
    d.each(c, [&](int64_t i) {
      const double xh = (static_cast<double>(x[i]) - mean) * inv_std;
      const double centred = static_cast<double>(dy[i]) - dbeta / count - xh * dgamma / count;
      a.out<Scalar>(0)[i] = static_cast<Scalar>(gamma * inv_std * centred);
    });
    a.out<Scalar>(1)[c] = static_cast<Scalar>(dgamma);
    a.out<Scalar>(2)[c] = static_cast<Scalar>(dbeta);
  }
}

}  // namespace

sdk::KernelTable batch_norm_kernels() {
  return {{Op::batch_norm, train}, {Op::batch_norm_infer, infer}, {Op::batch_norm_grad, grad}};
}

}  // namespace convoy::reference
