// Local response normalisation across channels. With s = k + alpha / size * sum of x^2 over the window,
// y = x s^-beta and dx[c] = dy[c] s[c]^-beta - 2 alpha beta / size x[c] * sum over windows j that hold c of
// dy[j] x[j] s[j]^(-beta - 1) (differentiating Krizhevsky 2012, section 3.3).
#include "kernels.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace convoy::reference {

namespace {

class Lrn {
 public:
  Lrn(const KernelArgs& a, const Scalar* x) : attrs_(a.node.attrs<LrnAttrs>()), dims_(a.node.in[0].dims), x_(x) {}

  int64_t channels() const { return dims_[1]; }
  int64_t area() const { return dims_[2] * dims_[3]; }
  double alpha() const { return attrs_.alpha / attrs_.size; }
  double beta() const { return attrs_.beta; }

  /// Channels [first, last] of the window around c.
  std::pair<int64_t, int64_t> window(int64_t c) const {
    const int64_t half = attrs_.size / 2;
    return {std::max<int64_t>(0, c - half), std::min(channels() - 1, c + half)};
  }

  double scale(int64_t n, int64_t c, int64_t i) const {
    const auto [first, last] = window(c);
    double sum = 0;
    for (int64_t j = first; j <= last; ++j) {
      const double v = static_cast<double>(x_[index(n, j, i)]);
      sum += v * v;
    }
    return attrs_.k + alpha() * sum;
  }

  int64_t index(int64_t n, int64_t c, int64_t i) const { return (n * channels() + c) * area() + i; }

  template <class F>
  void each(F f) const {
    for (int64_t n = 0; n < dims_[0]; ++n)
      for (int64_t c = 0; c < channels(); ++c)
        for (int64_t i = 0; i < area(); ++i) f(n, c, i);
  }

 private:
  LrnAttrs attrs_;
  const std::vector<int64_t>& dims_;
  const Scalar* x_;
};

void forward(const KernelArgs& a) {
  const auto* x = a.in<Scalar>(0);
  const Lrn l(a, x);
  l.each([&](int64_t n, int64_t c, int64_t i) {
    const int64_t at = l.index(n, c, i);
    a.out<Scalar>(0)[at] = static_cast<Scalar>(static_cast<double>(x[at]) * std::pow(l.scale(n, c, i), -l.beta()));
  });
}

void grad(const KernelArgs& a) {
  const auto *dy = a.in<Scalar>(0), *x = a.in<Scalar>(1);
  const Lrn l(a, x);
  l.each([&](int64_t n, int64_t c, int64_t i) {
    const int64_t at = l.index(n, c, i);
    const auto [first, last] = l.window(c);
    double sum = 0;
    for (int64_t j = first; j <= last; ++j) {
      const int64_t other = l.index(n, j, i);
      sum += static_cast<double>(dy[other]) * static_cast<double>(x[other]) * std::pow(l.scale(n, j, i), -l.beta() - 1);
    }
    a.out<Scalar>(0)[at] = static_cast<Scalar>(static_cast<double>(dy[at]) * std::pow(l.scale(n, c, i), -l.beta()) -
                                               2 * l.alpha() * l.beta() * static_cast<double>(x[at]) * sum);
  });
}

}  // namespace

sdk::KernelTable lrn_kernels() { return {{Op::lrn, forward}, {Op::lrn_grad, grad}}; }

}  // namespace convoy::reference
