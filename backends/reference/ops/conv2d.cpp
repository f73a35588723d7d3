// conv2d and its gradients by their definition: cross-correlation, as PyTorch and MXNet mean it. With
// h = p stride + r dilation - pad_lo and w = q stride + s dilation - pad_lo, terms outside the input being zero,
//   y[n,k,p,q]  = sum over c,r,s of x[n,c,h,w] w[k,c,r,s]
//   dx[n,c,h,w] = sum over k,r,s of dy[n,k,p,q] w[k,c,r,s], over all (p, q) that read (h, w)
//   dw[k,c,r,s] = sum over n,p,q of dy[n,k,p,q] x[n,c,h,w]
// c runs over the channels of k's group.
#include "kernels.hpp"

#include <algorithm>
#include <vector>

namespace convoy::reference {

namespace {

using Dims = std::vector<int64_t>;

/// Output positions [begin, end) whose tap lies inside the input, along one axis; input = out * stride + shift.
struct Tap {
  Tap(const ConvAttrs& a, int axis, int64_t tap, int64_t input, int64_t output)
      : stride(a.stride[axis]), shift(tap * a.dilation[axis] - a.pad_lo[axis]) {
    begin = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
    end = input - 1 < shift ? begin : std::min(output, (input - 1 - shift) / stride + 1);
  }
  int64_t at(int64_t out) const { return out * stride + shift; }
  int64_t stride, shift, begin, end;
};

struct Convolution {
  Convolution(const ConvAttrs& a, const Dims& x, const Dims& w, const Dims& y)
      : attrs(a), N(x[0]), C(x[1]), H(x[2]), W(x[3]), K(w[0]), CG(w[1]), R(w[2]), S(w[3]), P(y[2]), Q(y[3]),
        KG(w[0] / a.groups) {}
  ConvAttrs attrs;
  int64_t N, C, H, W, K, CG, R, S, P, Q, KG;

  /// Channel of the input that is the c-th of k's group.
  int64_t channel(int64_t k, int64_t c) const { return k / KG * CG + c; }
  int64_t weight(int64_t k, int64_t c, int64_t r, int64_t s) const { return ((k * CG + c) * R + r) * S + s; }

  /// Calls f(tap index, rows, columns) for every tap of the window.
  template <class F>
  void each_tap(F f) const {
    for (int64_t r = 0; r < R; ++r)
      for (int64_t s = 0; s < S; ++s) f(r * S + s, Tap(attrs, 0, r, H, P), Tap(attrs, 1, s, W, Q));
  }
};

void store(const double* sum, int64_t n, Scalar* out) {
  std::transform(sum, sum + n, out, [](double v) { return static_cast<Scalar>(v); });
}

void forward(const KernelArgs& a) {
  const Convolution d(a.node.attrs<ConvAttrs>(), a.node.in[0].dims, a.node.in[1].dims, a.node.out[0].dims);
  auto* sum = static_cast<double*>(a.workspace);  // one plane of y
  for (int64_t n = 0; n < d.N; ++n)
    for (int64_t k = 0; k < d.K; ++k) {
      std::fill_n(sum, d.P * d.Q, 0.0);
      for (int64_t c = 0; c < d.CG; ++c) {
        const Scalar* x = a.in<Scalar>(0) + (n * d.C + d.channel(k, c)) * d.H * d.W;
        const Scalar* w = a.in<Scalar>(1) + d.weight(k, c, 0, 0);
        d.each_tap([&](int64_t tap, const Tap& rows, const Tap& cols) {
          const double factor = w[tap];
          for (int64_t p = rows.begin; p < rows.end; ++p)
            for (int64_t q = cols.begin; q < cols.end; ++q)
              sum[p * d.Q + q] += factor * static_cast<double>(x[rows.at(p) * d.W + cols.at(q)]);
        });
      }
      store(sum, d.P * d.Q, a.out<Scalar>(0) + (n * d.K + k) * d.P * d.Q);
    }
}

void dgrad(const KernelArgs& a) {
  const Convolution d(a.node.attrs<ConvAttrs>(), a.node.out[0].dims, a.node.in[1].dims, a.node.in[0].dims);
  auto* sum = static_cast<double*>(a.workspace);  // one plane of dx
  for (int64_t n = 0; n < d.N; ++n)
    for (int64_t channel = 0; channel < d.C; ++channel) {
      std::fill_n(sum, d.H * d.W, 0.0);
      const int64_t group = channel / d.CG, c = channel % d.CG;
      for (int64_t k = group * d.KG; k < (group + 1) * d.KG; ++k) {
        const Scalar* dy = a.in<Scalar>(0) + (n * d.K + k) * d.P * d.Q;
        const Scalar* w = a.in<Scalar>(1) + d.weight(k, c, 0, 0);
        d.each_tap([&](int64_t tap, const Tap& rows, const Tap& cols) {
          const double factor = w[tap];
          for (int64_t p = rows.begin; p < rows.end; ++p)
            for (int64_t q = cols.begin; q < cols.end; ++q)
              sum[rows.at(p) * d.W + cols.at(q)] += factor * static_cast<double>(dy[p * d.Q + q]);
        });
      }
      store(sum, d.H * d.W, a.out<Scalar>(0) + (n * d.C + channel) * d.H * d.W);
    }
}

void wgrad(const KernelArgs& a) {
  const Convolution d(a.node.attrs<ConvAttrs>(), a.node.in[1].dims, a.node.out[0].dims, a.node.in[0].dims);
  for (int64_t k = 0; k < d.K; ++k)
    for (int64_t c = 0; c < d.CG; ++c)
      d.each_tap([&](int64_t tap, const Tap& rows, const Tap& cols) {
        double sum = 0;
        for (int64_t n = 0; n < d.N; ++n) {
          const Scalar* dy = a.in<Scalar>(0) + (n * d.K + k) * d.P * d.Q;
          const Scalar* x = a.in<Scalar>(1) + (n * d.C + d.channel(k, c)) * d.H * d.W;
          for (int64_t p = rows.begin; p < rows.end; ++p)
            for (int64_t q = cols.begin; q < cols.end; ++q)
              sum += static_cast<double>(dy[p * d.Q + q]) * static_cast<double>(x[rows.at(p) * d.W + cols.at(q)]);
        }
        a.out<Scalar>(0)[d.weight(k, c, 0, 0) + tap] = static_cast<Scalar>(sum);
      });
}

/// One plane of the output in double.
uint64_t plane(const NodeView& n) {
  return static_cast<uint64_t>(n.out[0].dims[2] * n.out[0].dims[3]) * sizeof(double);
}

}  // namespace

sdk::KernelTable conv2d_kernels() {
  return {{Op::conv2d, forward, sdk::f32_only, plane},
          {Op::conv2d_dgrad, dgrad, sdk::f32_only, plane},
          {Op::conv2d_wgrad, wgrad}};
}

}  // namespace convoy::reference
