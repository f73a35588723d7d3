// softmax_xent: p = exp(x - max) / sum of exp(x - max); loss = mean of -sum over k of t_k log p_k, with the targets t of
// PyTorch's label_smoothing; and how many labels are among the 1 and 5 largest logits. Its gradient is
// scale (p - t) / samples. Samples with a negative label do not count anywhere.
#include "kernels.hpp"

#include <algorithm>
#include <cmath>

namespace convoy::reference {

namespace {

/// Samples that count, at least 1 so that it divides. Errors: invalid, where a label is no class.
double counted(const int32_t* labels, int64_t n, int64_t classes) {
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (labels[i] >= classes)
      throw sdk::Error(Code::invalid, "label " + std::to_string(labels[i]) + " of sample " + std::to_string(i) +
                                          " is not below " + std::to_string(classes) + " classes");
    count += labels[i] >= 0 ? 1 : 0;
  }
  return static_cast<double>(std::max<int64_t>(1, count));
}

constexpr int64_t kNoHit = INT64_MAX;

/// Classes that come before the label: a larger logit, or an equal one of a lower index. kNoHit where it is NaN.
int64_t rank_of(const Scalar* row, int64_t classes, int64_t label) {
  if (row[label] != row[label]) return kNoHit;
  int64_t before = 0;
  for (int64_t k = 0; k < classes; ++k) before += row[k] > row[label] || (row[k] == row[label] && k < label) ? 1 : 0;
  return before;
}

void forward(const KernelArgs& a) {
  const int64_t N = a.node.in[0].dims[0], K = a.node.in[0].dims[1];
  const double s = a.node.attrs<SoftmaxXentAttrs>().label_smoothing;
  const auto* labels = a.in<int32_t>(1);
  const double samples = counted(labels, N, K);
  double loss = 0;
  int32_t top1 = 0, top5 = 0;
  for (int64_t n = 0; n < N; ++n) {
    const Scalar* row = a.in<Scalar>(0) + n * K;
    const double largest = *std::max_element(row, row + K);
    double sum = 0;
    for (int64_t k = 0; k < K; ++k) sum += std::exp(static_cast<double>(row[k]) - largest);
    const double log_sum = largest + std::log(sum);
    double sample = 0;
    for (int64_t k = 0; k < K; ++k) {
      const double log_p = static_cast<double>(row[k]) - log_sum;
      a.out<Scalar>(1)[n * K + k] = static_cast<Scalar>(std::exp(log_p));
      const double target = (labels[n] == k ? 1 - s : 0) + s / static_cast<double>(K);
      if (target > 0) sample -= target * log_p;
    }
    if (labels[n] < 0) continue;
    loss += sample;
    const int64_t rank = rank_of(row, K, labels[n]);
    top1 += rank < 1 ? 1 : 0;
    top5 += rank < 5 ? 1 : 0;
  }
  *a.out<Scalar>(0) = static_cast<Scalar>(loss / samples);
  *a.out<int32_t>(2) = top1;
  *a.out<int32_t>(3) = top5;
}

void grad(const KernelArgs& a) {
  const int64_t N = a.node.in[0].dims[0], K = a.node.in[0].dims[1];
  const double s = a.node.attrs<SoftmaxXentAttrs>().label_smoothing;
  const auto* labels = a.in<int32_t>(1);
  const double factor = static_cast<double>(*a.in<Scalar>(2)) / counted(labels, N, K);
  for (int64_t n = 0; n < N; ++n)
    for (int64_t k = 0; k < K; ++k) {
      const double target = (labels[n] == k ? 1 - s : 0) + s / static_cast<double>(K);
      const double d = labels[n] < 0 ? 0 : factor * (static_cast<double>(a.in<Scalar>(0)[n * K + k]) - target);
      a.out<Scalar>(0)[n * K + k] = static_cast<Scalar>(d);
    }
}

std::string refuse_forward(const NodeView& n) {
  return f32_but(n, {{false, 1, DType::i32}, {true, 2, DType::i32}, {true, 3, DType::i32}});
}
std::string refuse_grad(const NodeView& n) { return f32_but(n, {{false, 1, DType::i32}}); }

}  // namespace

sdk::KernelTable softmax_xent_kernels() {
  return {{Op::softmax_xent, forward, refuse_forward}, {Op::softmax_xent_grad, grad, refuse_grad}};
}

}  // namespace convoy::reference
