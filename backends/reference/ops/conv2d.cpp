// conv2d and its gradients by their definition: y[n,k,p,q] = sum over c,r,s of x[n,c,p st + r dil - lo, ...] w[k,c,r,s].
#include "kernels.hpp"

#include <algorithm>
#include <vector>

namespace convoy::reference {

namespace {

struct Shape {
  explicit Shape(const ConvAttrs& a, const std::vector<int64_t>& x, const std::vector<int64_t>& w, const std::vector<int64_t>& y)
      : attrs(a), N(x[0]), C(x[1]), H(x[2]), W(x[3]), K(w[0]), CG(w[1]), R(w[2]), S(w[3]), P(y[2]), Q(y[3]), KG(w[0] / a.groups) {}
  ConvAttrs attrs;
  int64_t N, C, H, W, K, CG, R, S, P, Q, KG;
};

/// Calls f(x index, w index, y index) for every multiply-add of the convolution, in the order n, k, c, r, s, p, q.
template <class F>
void for_each_mac(const Shape& d, F f) {
  const ConvAttrs& a = d.attrs;
  for (int64_t n = 0; n < d.N; ++n)
    for (int64_t k = 0; k < d.K; ++k)
      for (int64_t c = 0; c < d.CG; ++c) {
        const int64_t channel = k / d.KG * d.CG + c;
        for (int64_t r = 0; r < d.R; ++r)
          for (int64_t s = 0; s < d.S; ++s) {
            const int64_t w = ((k * d.CG + c) * d.R + r) * d.S + s;
            for (int64_t p = 0; p < d.P; ++p) {
              const int64_t h = p * a.stride[0] + r * a.dilation[0] - a.pad_lo[0];
              if (h < 0 || h >= d.H) continue;
              const int64_t x_row = ((n * d.C + channel) * d.H + h) * d.W;
              const int64_t y_row = ((n * d.K + k) * d.P + p) * d.Q;
              for (int64_t q = 0; q < d.Q; ++q) {
                const int64_t col = q * a.stride[1] + s * a.dilation[1] - a.pad_lo[1];
                if (col >= 0 && col < d.W) f(x_row + col, w, y_row + q);
              }
            }
          }
      }
}

void store(const std::vector<double>& sum, Scalar* out) { std::transform(sum.begin(), sum.end(), out, [](double v) { return static_cast<Scalar>(v); }); }

void forward(const KernelArgs& a) {
  const Shape d(a.node.attrs<ConvAttrs>(), a.node.in[0].dims, a.node.in[1].dims, a.node.out[0].dims);
  const auto *x = a.in<Scalar>(0), *w = a.in<Scalar>(1);
  std::vector<double> sum(static_cast<std::size_t>(a.node.out[0].elements()));
  for_each_mac(d, [&](int64_t xi, int64_t wi, int64_t yi) { sum[yi] += static_cast<double>(x[xi]) * static_cast<double>(w[wi]); });
  store(sum, a.out<Scalar>(0));
}

void dgrad(const KernelArgs& a) {
  const Shape d(a.node.attrs<ConvAttrs>(), a.node.out[0].dims, a.node.in[1].dims, a.node.in[0].dims);
  const auto *dy = a.in<Scalar>(0), *w = a.in<Scalar>(1);
  std::vector<double> sum(static_cast<std::size_t>(a.node.out[0].elements()));
  for_each_mac(d, [&](int64_t xi, int64_t wi, int64_t yi) { sum[xi] += static_cast<double>(dy[yi]) * static_cast<double>(w[wi]); });
  store(sum, a.out<Scalar>(0));
}

void wgrad(const KernelArgs& a) {
  const Shape d(a.node.attrs<ConvAttrs>(), a.node.in[1].dims, a.node.out[0].dims, a.node.in[0].dims);
  const auto *dy = a.in<Scalar>(0), *x = a.in<Scalar>(1);
  std::vector<double> sum(static_cast<std::size_t>(a.node.out[0].elements()));
  for_each_mac(d, [&](int64_t xi, int64_t wi, int64_t yi) { sum[wi] += static_cast<double>(dy[yi]) * static_cast<double>(x[xi]); });
  store(sum, a.out<Scalar>(0));
}

}  // namespace

sdk::KernelTable conv2d_kernels() {
  return {{Op::conv2d, forward}, {Op::conv2d_dgrad, dgrad}, {Op::conv2d_wgrad, wgrad}};
}

}  // namespace convoy::reference
