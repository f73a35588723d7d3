// Update rules as flat loops over f32, in place. Each raises the alarm where a parameter is not finite afterwards.
#include "lowering.hpp"

#include "kernels/flat.hpp"
#include "kernels/parallel.hpp"

#include <atomic>
#include <cmath>

namespace convoy::cpu {

namespace {

constexpr int64_t kPieces = 64;  // of a sum over a whole tensor: a fixed number, so that threads do not change bits

/// Sum of squares; the same bits for any number of threads.
double squares(const float* x, int64_t n) {
  double parts[kPieces] = {};
  const int64_t piece = (n + kPieces - 1) / kPieces;
  parallel(kPieces, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, piece)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = std::min(n, i * piece);
      parts[i] = flat().squares(x + first, std::min(n, first + piece) - first);
    }
  });
  double sum = 0;
  for (double p : parts) sum += p;
  return sum;
}

/// Runs f(begin, count), which returns not 0 where something is not finite, over n elements by all threads.
template <class F>
void update(int64_t n, uint32_t* alarm, const F& f) {
  std::atomic<uint32_t> bad{0};
  parallel(n, kGrain, [&](int64_t begin, int64_t end) {
    if (f(begin, end - begin) != 0) bad.store(1, std::memory_order_relaxed);
  });
  *alarm |= bad.load();
}

/// The operands of an update: `inputs` of its inputs (an absent one becomes the alarm's memory and is not used), then
/// the alarm. Outputs live where the inputs they update live.
std::vector<Tensor> operands_of(Lowering& l, uint32_t n, uint32_t inputs) {
  const GraphIndex& g = l.graph();
  std::vector<Tensor> out;
  for (uint32_t i = 0; i < inputs; ++i) {
    if (g.in(n, i) == kNoValue) {
      out.push_back(l.alarm());
      continue;
    }
    need_f32(g, g.in(n, i));
    out.push_back(l.read(g.in(n, i)));
  }
  for (uint32_t i = 0; i < g.node(n).n_out; ++i) {
    const Value v = g.out(n, i);
    if (v == kNoValue) continue;
    if (g.tensor(v).alias_of < 0) throw Refused("updates a value that is not the core's");
    l.write(v);
  }
  out.push_back(l.alarm());
  return out;
}

void sgd(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const auto a = g.attrs<SgdAttrs>(n);
  const int64_t count = g.elements(g.in(n, 0));
  const bool with_buffer = g.in(n, 2) != kNoValue;
  SgdStep s{0, static_cast<float>(a.momentum), static_cast<float>(1 - a.dampening), static_cast<float>(a.weight_decay),
            a.nesterov != 0};
  l.kernel("sgd", operands_of(l, n, 4), [=](const Operands& p) {
    SgdStep step = s;
    step.lr = *p.at(3);
    update(count, p.at<uint32_t>(4), [&](int64_t i, int64_t m) {
      return flat().sgd(p.at(0) + i, p.at(1) + i, with_buffer ? p.at(2) + i : nullptr, m, step);
    });
  });
}

void lars(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const auto a = g.attrs<LarsAttrs>(n);
  const int64_t count = g.elements(g.in(n, 0));
  l.kernel("lars", operands_of(l, n, 4), [=](const Operands& p) {
    const double length = std::sqrt(squares(p.at(0), count)), grad_length = std::sqrt(squares(p.at(1), count));
    const double local = length > 0 && grad_length > 0
                             ? a.trust * length / (grad_length + a.weight_decay * length + a.eps)
                             : 1.0;
    update(count, p.at<uint32_t>(4), [&](int64_t i, int64_t m) {
      return flat().lars(p.at(0) + i, p.at(1) + i, p.at(2) + i, m, a.momentum, local * static_cast<double>(*p.at(3)),
                         a.weight_decay);
    });
  });
}

void rmsprop(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const auto a = g.attrs<RmspropAttrs>(n);
  const int64_t count = g.elements(g.in(n, 0));
  const bool with_buffer = g.in(n, 3) != kNoValue;
  l.kernel("rmsprop", operands_of(l, n, 5), [=](const Operands& p) {
    const RmspropStep s{static_cast<double>(*p.at(4)), a.alpha, a.eps, a.momentum, a.weight_decay};
    update(count, p.at<uint32_t>(5), [&](int64_t i, int64_t m) {
      return flat().rmsprop(p.at(0) + i, p.at(1) + i, p.at(2) + i, with_buffer ? p.at(3) + i : nullptr, m, s);
    });
  });
}

void adamw(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const auto a = g.attrs<AdamwAttrs>(n);
  const int64_t count = g.elements(g.in(n, 0));
  l.kernel("adamw", operands_of(l, n, 6), [=](const Operands& p) {
    const double t = static_cast<double>(*p.at(5));
    const AdamwStep s{static_cast<double>(*p.at(4)), a.beta1, a.beta2, a.eps, a.weight_decay,
                      1 - std::pow(a.beta1, t), 1 - std::pow(a.beta2, t)};
    update(count, p.at<uint32_t>(6), [&](int64_t i, int64_t m) {
      return flat().adamw(p.at(0) + i, p.at(1) + i, p.at(2) + i, p.at(3) + i, m, s);
    });
  });
}

void ema(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const double decay = g.attrs<EmaAttrs>(n).decay;
  const int64_t count = g.elements(g.in(n, 0));
  l.kernel("ema", operands_of(l, n, 2), [=](const Operands& p) {
    update(count, p.at<uint32_t>(2),
           [&](int64_t i, int64_t m) { return flat().ema(p.at(0) + i, p.at(1) + i, m, decay); });
  });
}

void unscale_check(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const double clip = g.attrs<UnscaleCheckAttrs>(n).clip_norm;
  std::vector<Tensor> operands;
  std::vector<int64_t> counts;
  for (uint32_t i = 0; i < g.node(n).n_in; ++i) {
    need_f32(g, g.in(n, i));
    operands.push_back(l.read(g.in(n, i)));
    counts.push_back(g.elements(g.in(n, i)));
  }
  operands.push_back(l.write(g.out(n, 0)));
  operands.push_back(l.write(g.out(n, 1)));
  l.kernel("unscale_check", operands, [clip, counts](const Operands& p) {
    const double scale = static_cast<double>(*p.at(0));
    double sum = 0;
    for (std::size_t i = 1; i < counts.size(); ++i) sum += squares(p.at(i), counts[i]);
    // Squares of f32 cannot overflow a double: the sum is finite exactly where every gradient is.
    const bool finite = std::isfinite(scale) && scale != 0 && std::isfinite(sum);
    const double length = std::sqrt(sum) / std::abs(scale);
    const double clipped = clip > 0 && length > clip ? clip / length : 1.0;
    *p.at<int32_t>(counts.size()) = finite ? 0 : 1;
    *p.at(counts.size() + 1) = finite ? static_cast<float>(clipped / scale) : 0.0f;
  });
}

const OpLowering kLowerings[] = {{Op::sgd, sgd},     {Op::lars, lars}, {Op::rmsprop, rmsprop},
                                 {Op::adamw, adamw}, {Op::ema, ema},   {Op::unscale_check, unscale_check}};

}  // namespace

std::span<const OpLowering> update_lowerings() { return kLowerings; }

}  // namespace convoy::cpu
