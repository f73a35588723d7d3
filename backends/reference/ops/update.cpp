// Update rules, PyTorch 2's conventions, each element computed in double and rounded once. In place: an output may be
// the memory of the input that it updates, so each element is read before it is written.
//   sgd      g = grad + wd p; b = mom b + (1 - damp) g; p -= lr (nesterov ? g + mom b : b)      Sutskever 2013
//   lars     b = mom b + local lr (grad + wd p); p -= b; local = trust |p| / (|grad| + wd |p| + eps)   You 2017
//   rmsprop  v = alpha v + (1 - alpha) g^2; d = g / (sqrt(v) + eps); b = mom b + d; p -= lr b
//   adamw    Loshchilov and Hutter 2019, with decoupled decay
//   ema      shadow = decay shadow + (1 - decay) p
//   unscale_check  1 / scale, less where the gradients' norm is above clip_norm, 0 where one is not finite
#include "kernels.hpp"

#include <cmath>

namespace convoy::reference {

namespace {

void sgd(const KernelArgs& a) {
  const auto o = a.node.attrs<SgdAttrs>();
  const double lr = *a.in<Scalar>(3);
  const int64_t n = a.node.in[0].elements();
  for (int64_t i = 0; i < n; ++i) {
    const double p = a.in<Scalar>(0)[i];
    double g = static_cast<double>(a.in<Scalar>(1)[i]) + o.weight_decay * p;
    if (a.node.in[2].present) {
      const double b = o.momentum * static_cast<double>(a.in<Scalar>(2)[i]) + (1 - o.dampening) * g;
      a.out<Scalar>(1)[i] = static_cast<Scalar>(b);
      g = o.nesterov != 0 ? g + o.momentum * b : b;
    }
    a.out<Scalar>(0)[i] = static_cast<Scalar>(p - lr * g);
  }
}

double norm(const Scalar* v, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(v[i]) * static_cast<double>(v[i]);
  return std::sqrt(sum);
}

void lars(const KernelArgs& a) {
  const auto o = a.node.attrs<LarsAttrs>();
  const int64_t n = a.node.in[0].elements();
  const double lr = *a.in<Scalar>(3), p_norm = norm(a.in<Scalar>(0), n), g_norm = norm(a.in<Scalar>(1), n);
  const double local = p_norm > 0 && g_norm > 0 ? o.trust * p_norm / (g_norm + o.weight_decay * p_norm + o.eps) : 1;
  for (int64_t i = 0; i < n; ++i) {
    const double p = a.in<Scalar>(0)[i];
    const double g = static_cast<double>(a.in<Scalar>(1)[i]) + o.weight_decay * p;
    const double b = o.momentum * static_cast<double>(a.in<Scalar>(2)[i]) + local * lr * g;
    a.out<Scalar>(1)[i] = static_cast<Scalar>(b);
    a.out<Scalar>(0)[i] = static_cast<Scalar>(p - b);
  }
}

void rmsprop(const KernelArgs& a) {
  const auto o = a.node.attrs<RmspropAttrs>();
  const double lr = *a.in<Scalar>(4);
  const int64_t n = a.node.in[0].elements();
  for (int64_t i = 0; i < n; ++i) {
    const double p = a.in<Scalar>(0)[i], g = static_cast<double>(a.in<Scalar>(1)[i]) + o.weight_decay * p;
    const double v = o.alpha * static_cast<double>(a.in<Scalar>(2)[i]) + (1 - o.alpha) * g * g;
    double d = g / (std::sqrt(v) + o.eps);
    a.out<Scalar>(1)[i] = static_cast<Scalar>(v);
    if (a.node.in[3].present) {
      d += o.momentum * static_cast<double>(a.in<Scalar>(3)[i]);
      a.out<Scalar>(2)[i] = static_cast<Scalar>(d);
    }
    a.out<Scalar>(0)[i] = static_cast<Scalar>(p - lr * d);
  }
}

void adamw(const KernelArgs& a) {
  const auto o = a.node.attrs<AdamwAttrs>();
  const double lr = *a.in<Scalar>(4), t = *a.in<Scalar>(5);
  const double fix1 = 1 - std::pow(o.beta1, t), fix2 = 1 - std::pow(o.beta2, t);
  const int64_t n = a.node.in[0].elements();
  for (int64_t i = 0; i < n; ++i) {
    const double g = a.in<Scalar>(1)[i];
    const double p = static_cast<double>(a.in<Scalar>(0)[i]) * (1 - lr * o.weight_decay);
    const double m = o.beta1 * static_cast<double>(a.in<Scalar>(2)[i]) + (1 - o.beta1) * g;
    const double v = o.beta2 * static_cast<double>(a.in<Scalar>(3)[i]) + (1 - o.beta2) * g * g;
    a.out<Scalar>(1)[i] = static_cast<Scalar>(m);
    a.out<Scalar>(2)[i] = static_cast<Scalar>(v);
    a.out<Scalar>(0)[i] = static_cast<Scalar>(p - lr * (m / fix1) / (std::sqrt(v / fix2) + o.eps));
  }
}

void ema(const KernelArgs& a) {
  const double decay = a.node.attrs<EmaAttrs>().decay;
  const int64_t n = a.node.in[0].elements();
  for (int64_t i = 0; i < n; ++i)
    a.out<Scalar>(0)[i] = static_cast<Scalar>(decay * static_cast<double>(a.in<Scalar>(0)[i]) +
                                              (1 - decay) * static_cast<double>(a.in<Scalar>(1)[i]));
}

void unscale_check(const KernelArgs& a) {
  const double clip = a.node.attrs<UnscaleCheckAttrs>().clip_norm, scale = *a.in<Scalar>(0);
  double squares = 0;
  bool finite = std::isfinite(scale);
  for (std::size_t k = 1; k < a.node.in.size(); ++k) {
    const int64_t n = a.node.in[k].elements();
    for (int64_t i = 0; i < n; ++i) {
      const double g = static_cast<double>(a.in<Scalar>(k)[i]) / scale;
      finite = finite && std::isfinite(g);
      squares += g * g;
    }
  }
  const double length = std::sqrt(squares);
  const double clipped = clip > 0 && length > clip ? clip / length : 1;
  *a.out<int32_t>(0) = finite ? 0 : 1;
  *a.out<Scalar>(1) = finite ? static_cast<Scalar>(clipped / scale) : Scalar{0};
}

std::string refuse_check(const NodeView& n) { return f32_but(n, {{true, 0, DType::i32}}); }

}  // namespace

sdk::KernelTable update_kernels() {
  return {{Op::sgd, sgd},     {Op::lars, lars}, {Op::rmsprop, rmsprop},
          {Op::adamw, adamw}, {Op::ema, ema},   {Op::unscale_check, unscale_check, refuse_check}};
}

}  // namespace convoy::reference
