// A third-party backend with the ten kernels that training one linear layer takes: how little a useful backend is.
#include <convoy/sdk/kernels.hpp>

#include <algorithm>
#include <cmath>

using namespace convoy;
using namespace convoy::sdk;

namespace {

void normalize(const KernelArgs& a) {
  const auto attrs = a.node.attrs<ImageNormalizeAttrs>();
  const auto& d = a.node.in[0].dims;
  for (int64_t i = 0; i < a.node.in[0].elements(); ++i) {
    const int64_t c = i / (d[2] * d[3]) % d[1];
    a.out<float>(0)[i] = (static_cast<float>(a.in<uint8_t>(0)[i]) - attrs.mean[c]) / attrs.stdev[c];
  }
}

void reshape(const KernelArgs& a) { std::copy_n(a.in<float>(0), a.node.in[0].elements(), a.out<float>(0)); }

void linear(const KernelArgs& a) {
  const int64_t N = a.node.in[0].dims[0], I = a.node.in[0].dims[1], O = a.node.in[1].dims[0];
  for (int64_t n = 0; n < N; ++n)
    for (int64_t o = 0; o < O; ++o) {
      float sum = 0;
      for (int64_t i = 0; i < I; ++i) sum += a.in<float>(0)[n * I + i] * a.in<float>(1)[o * I + i];
      a.out<float>(0)[n * O + o] = sum;
    }
}

void linear_wgrad(const KernelArgs& a) {
  const int64_t N = a.node.in[0].dims[0], O = a.node.in[0].dims[1], I = a.node.in[1].dims[1];
  std::fill_n(a.out<float>(0), O * I, 0.0f);
  for (int64_t n = 0; n < N; ++n)
    for (int64_t o = 0; o < O; ++o)
      for (int64_t i = 0; i < I; ++i) a.out<float>(0)[o * I + i] += a.in<float>(0)[n * O + o] * a.in<float>(1)[n * I + i];
}

void bias_add(const KernelArgs& a) {
  const int64_t C = a.node.in[0].dims[1];
  for (int64_t i = 0; i < a.node.in[0].elements(); ++i) a.out<float>(0)[i] = a.in<float>(0)[i] + a.in<float>(1)[i % C];
}

void bias_grad(const KernelArgs& a) {
  const int64_t N = a.node.in[0].dims[0], C = a.node.in[0].dims[1];
  std::fill_n(a.out<float>(0), C, 0.0f);
  for (int64_t i = 0; i < N * C; ++i) a.out<float>(0)[i % C] += a.in<float>(0)[i];
}

/// Labels below 0 do not count; at least one sample is taken to.
int64_t counted(const int32_t* labels, int64_t n) {
  return std::max<int64_t>(1, std::count_if(labels, labels + n, [](int32_t l) { return l >= 0; }));
}

void xent(const KernelArgs& a) {
  const int64_t N = a.node.in[0].dims[0], K = a.node.in[0].dims[1];
  const auto* labels = a.in<int32_t>(1);
  double loss = 0;
  int32_t top1 = 0, top5 = 0;
  for (int64_t n = 0; n < N; ++n) {
    const float* row = a.in<float>(0) + n * K;
    const float most = *std::max_element(row, row + K);
    double sum = 0;
    for (int64_t k = 0; k < K; ++k) sum += std::exp(row[k] - most);
    for (int64_t k = 0; k < K; ++k) a.out<float>(1)[n * K + k] = static_cast<float>(std::exp(row[k] - most) / sum);
    if (labels[n] < 0) continue;
    loss += most + std::log(sum) - row[labels[n]];
    const auto before = std::count_if(row, row + K, [&](float v) { return v > row[labels[n]]; });
    top1 += before < 1 ? 1 : 0;
    top5 += before < 5 ? 1 : 0;
  }
  *a.out<float>(0) = static_cast<float>(loss / static_cast<double>(counted(labels, N)));
  *a.out<int32_t>(2) = top1;
  *a.out<int32_t>(3) = top5;
}

void xent_grad(const KernelArgs& a) {
  const int64_t N = a.node.in[0].dims[0], K = a.node.in[0].dims[1];
  const auto* labels = a.in<int32_t>(1);
  const float factor = *a.in<float>(2) / static_cast<float>(counted(labels, N));
  for (int64_t n = 0; n < N; ++n)
    for (int64_t k = 0; k < K; ++k)
      a.out<float>(0)[n * K + k] = labels[n] < 0 ? 0.0f : factor * (a.in<float>(0)[n * K + k] - (labels[n] == k ? 1.0f : 0.0f));
}

void sgd(const KernelArgs& a) {
  const auto o = a.node.attrs<SgdAttrs>();
  const float lr = *a.in<float>(3);
  for (int64_t i = 0; i < a.node.in[0].elements(); ++i) {
    float g = a.in<float>(1)[i] + static_cast<float>(o.weight_decay) * a.in<float>(0)[i];
    if (a.node.in[2].present) g = a.out<float>(1)[i] = static_cast<float>(o.momentum) * a.in<float>(2)[i] + g;
    a.out<float>(0)[i] = a.in<float>(0)[i] - lr * g;
  }
}

std::string no_nesterov(const NodeView& n) { return n.attrs<SgdAttrs>().nesterov != 0 ? "no Nesterov momentum" : ""; }

/// Labels, counters and bytes are not f32: a kernel that takes them says which types it wants.
std::string labels_i32(const NodeView& n) { return n.in[1].dtype == DType::i32 ? "" : "labels must be i32"; }
std::string images_u8(const NodeView& n) { return n.in[0].dtype == DType::u8 ? "" : "images must be u8"; }

const KernelTable& kernels() {
  static const KernelTable table{{Op::image_normalize, normalize, images_u8}, {Op::reshape, reshape}, {Op::linear, linear}, {Op::linear_wgrad, linear_wgrad},
                                 {Op::bias_add, bias_add}, {Op::bias_grad, bias_grad}, {Op::softmax_xent, xent, labels_i32}, {Op::softmax_xent_grad, xent_grad, labels_i32},
                                 {Op::sgd, sgd, no_nesterov}};
  return table;
}

class Tiny final : public KernelDevice {
 public:
  static constexpr const char* schema = "";
  explicit Tiny(const Options& o) : KernelDevice(kernels(), static_cast<uint32_t>(get(o, "ordinal", 0))) {}
};

}  // namespace

CONVOY_PLUGIN(device, Tiny, "tiny")
