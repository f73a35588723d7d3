// softmax_xent and its gradient: own loops in double, a sample at a time.
#include "lowering.hpp"

#include "kernels/parallel.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace convoy::cpu {

namespace {

constexpr int64_t kRowGrain = 8192;  // logits that make waking a thread worth while: an exp each

struct Shape {
  Shape(const GraphIndex& g, uint32_t n) : smoothing(g.attrs<SoftmaxXentAttrs>(n).label_smoothing) {
    need_f32(g, g.in(n, 0));
    need_rank(g, g.in(n, 0), 2);
    if (g.tensor(g.in(n, 1)).dtype != DType::i32) throw Refused("takes labels of i32");
    samples = g.dims(g.in(n, 0))[0];
    classes = g.dims(g.in(n, 0))[1];
  }
  int64_t grain() const { return std::max<int64_t>(1, kRowGrain / classes); }

  int64_t samples, classes;
  double smoothing;
};

/// What a sample adds to the results.
struct Outcome {
  double loss;
  int32_t top1, top5, counts, pad;
};

/// Classes before the label: a larger logit, or an equal one of a lower index. More than any number of them where it
/// is a NaN: no hit, however few the classes.
int64_t rank_of(const float* row, int64_t classes, int64_t label) {
  const float own = row[label];
  if (own != own) return INT64_MAX;
  int64_t before = 0;
  for (int64_t k = 0; k < classes; ++k) before += row[k] > own || (row[k] == own && k < label) ? 1 : 0;
  return before;
}

/// With t = (1 - s) onehot + s / K: -sum t log p = log_sum - (1 - s) x[label] - s mean(x).
Outcome sample(const float* row, float* probs, int64_t classes, int32_t label, double smoothing) {
  float largest = row[0];
  for (int64_t k = 1; k < classes; ++k) largest = std::max(largest, row[k]);
  double sum = 0, mean = 0;
  for (int64_t k = 0; k < classes; ++k) {
    const double shifted = static_cast<double>(row[k]) - static_cast<double>(largest), e = std::exp(shifted);
    probs[k] = static_cast<float>(e);
    sum += e;
    mean += shifted;
  }
  const double scale = 1 / sum;
  for (int64_t k = 0; k < classes; ++k) probs[k] = static_cast<float>(static_cast<double>(probs[k]) * scale);
  if (label < 0) return {};
  double loss = std::log(sum) - (1 - smoothing) * (static_cast<double>(row[label]) - static_cast<double>(largest));
  if (smoothing > 0) loss -= smoothing * mean / static_cast<double>(classes);
  const int64_t rank = rank_of(row, classes, label);
  return {loss, rank < 1 ? 1 : 0, rank < 5 ? 1 : 0, 1, 0};
}

void forward(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const Shape s(g, n);
  const Tensor outcomes = l.make_bytes(static_cast<uint64_t>(s.samples) * sizeof(Outcome));
  l.kernel("loss",
           {l.read(g.in(n, 0)), l.read(g.in(n, 1)), l.write(g.out(n, 0)), l.write(g.out(n, 1)), l.write(g.out(n, 2)),
            l.write(g.out(n, 3)), outcomes, l.alarm()},
           [s](const Operands& p) {
             auto* each = p.at<Outcome>(6);
             parallel(s.samples, s.grain(), [&](int64_t begin, int64_t end) {
               for (int64_t i = begin; i < end; ++i)
                 each[i] = sample(p.at(0) + i * s.classes, p.at(3) + i * s.classes, s.classes, p.at<int32_t>(1)[i],
                                  s.smoothing);
             });
             Outcome all{};
             for (int64_t i = 0; i < s.samples; ++i) {
               all.loss += each[i].loss;
               all.top1 += each[i].top1;
               all.top5 += each[i].top5;
               all.counts += each[i].counts;
             }
             const bool alarm = *p.at<uint32_t>(7) != 0;
             *p.at(2) = alarm ? std::numeric_limits<float>::quiet_NaN()
                              : static_cast<float>(all.loss / std::max(1, all.counts));
             *p.at<int32_t>(4) = all.top1;
             *p.at<int32_t>(5) = all.top5;
           });
}

void grad(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const Shape s(g, n);
  l.kernel("loss_grad", {l.read(g.in(n, 0)), l.read(g.in(n, 1)), l.read(g.in(n, 2)), l.write(g.out(n, 0))},
           [s](const Operands& p) {
             const int32_t* labels = p.at<int32_t>(1);
             const auto counted = std::count_if(labels, labels + s.samples, [](int32_t label) { return label >= 0; });
             const double factor = static_cast<double>(*p.at(2)) / static_cast<double>(std::max<int64_t>(1, counted));
             const double rest = s.smoothing / static_cast<double>(s.classes);
             parallel(s.samples, s.grain(), [&](int64_t begin, int64_t end) {
               for (int64_t i = begin; i < end; ++i) {
                 const float* probs = p.at(0) + i * s.classes;
                 float* d = p.at(3) + i * s.classes;
                 const double f = labels[i] < 0 ? 0 : factor;
                 for (int64_t k = 0; k < s.classes; ++k)
                   d[k] = labels[i] < 0 ? 0.0f : static_cast<float>(f * (static_cast<double>(probs[k]) - rest));
                 if (labels[i] >= 0)
                   d[labels[i]] = static_cast<float>(f * (static_cast<double>(probs[labels[i]]) - rest - (1 - s.smoothing)));
               }
             });
           });
}

const OpLowering kLowerings[] = {{Op::softmax_xent, forward}, {Op::softmax_xent_grad, grad}};

}  // namespace

std::span<const OpLowering> softmax_xent_lowerings() { return kLowerings; }

}  // namespace convoy::cpu
