// conv2d and its two gradients: shapes, and the multiply-adds that papers count.
#include "ir/op_rule.hpp"
#include "ir/window.hpp"

#include <convoy/ops.hpp>

#include <fmt/format.h>

namespace convoy::ir {

namespace {

void check_attrs(const Inference& n, const ConvAttrs& a) {
  for (int i = 0; i < 2; ++i) {
    n.need_positive("stride", a.stride[i]);
    n.need_positive("dilation", a.dilation[i]);
    if (a.pad_lo[i] < 0 || a.pad_hi[i] < 0)
      n.refuse(fmt::format("padding {} and {}; negative padding does not exist", a.pad_lo[i], a.pad_hi[i]));
  }
  n.need_positive("groups", a.groups);
}

int64_t out_size(const ConvAttrs& a, int i) {
  return output_size({a.input_size[i], a.kernel[i], a.stride[i], a.pad_lo[i], a.pad_hi[i], a.dilation[i], false});
}

/// Fills in a size that the author left out, refuses one that differs.
void agree(const Inference& n, const char* what, int32_t (&attr)[2], const std::vector<int64_t>& dims) {
  for (int i = 0; i < 2; ++i) {
    if (attr[i] != 0 && attr[i] != dims[2 + i])
      n.refuse(fmt::format("{} is given as {}x{} and is {}x{}", what, attr[0], attr[1], dims[2], dims[3]));
    attr[i] = static_cast<int32_t>(dims[2 + i]);
  }
}

void check_groups(const Inference& n, const ConvAttrs& a, int64_t channels, const std::vector<int64_t>& w) {
  if (channels % a.groups != 0 || w[0] % a.groups != 0)
    n.refuse(fmt::format("{} groups divide {} input and {} output channels unevenly", a.groups, channels, w[0]));
  if (w[1] != channels / a.groups)
    n.refuse(fmt::format("the weights take {} channels a group, the input has {} in {} groups", w[1], channels, a.groups));
}

void infer_forward(Inference& n) {
  n.need_rank(0, 4);
  n.need_rank(1, 4);
  auto a = n.attrs<ConvAttrs>();
  if (a.compute == DType{}) a.compute = DType::f32;
  check_attrs(n, a);
  const auto &x = n.in(0).dims, &w = n.in(1).dims;
  agree(n, "the kernel", a.kernel, w);
  agree(n, "the input size", a.input_size, x);
  check_groups(n, a, x[1], w);
  const int64_t p = out_size(a, 0), q = out_size(a, 1);
  if (p < 1 || q < 1)
    n.refuse(fmt::format("a {}x{} window does not fit into {}x{} with this padding", a.kernel[0], a.kernel[1], x[2], x[3]));
  n.set_attrs(a);
  n.give(n.in(0).dtype, {x[0], w[0], p, q});
}

void check_dy(const Inference& n, const ConvAttrs& a) {
  n.need_rank(0, 4);
  check_attrs(n, a);
  const auto& dy = n.in(0).dims;
  if (dy[2] != out_size(a, 0) || dy[3] != out_size(a, 1))
    n.refuse(fmt::format("the output gradient is {}x{}, the attributes give {}x{}", dy[2], dy[3], out_size(a, 0),
                         out_size(a, 1)));
}

void infer_dgrad(Inference& n) {
  n.need_rank(1, 4);
  const auto a = n.attrs<ConvAttrs>();
  check_dy(n, a);
  const auto &dy = n.in(0).dims, &w = n.in(1).dims;
  if (dy[1] != w[0]) n.refuse("output channels of gradient and weights differ");
  n.give(n.in(0).dtype, {dy[0], w[1] * a.groups, a.input_size[0], a.input_size[1]});
}

void infer_wgrad(Inference& n) {
  n.need_rank(1, 4);
  const auto a = n.attrs<ConvAttrs>();
  check_dy(n, a);
  const auto &dy = n.in(0).dims, &x = n.in(1).dims;
  if (x[2] != a.input_size[0] || x[3] != a.input_size[1] || dy[0] != x[0])
    n.refuse("input and output gradient do not belong together");
  n.give(DType::f32, {dy[1], x[1] / a.groups, a.kernel[0], a.kernel[1]});
}

void gradient(Backward& b) {
  const auto attrs = b.node().attrs;
  if (b.needed(0)) b.set(0, b.emit_one(Op::conv2d_dgrad, {b.dy(0), b.in(1)}, attrs, "dgrad"));
  if (b.needed(1)) b.set(1, b.emit_one(Op::conv2d_wgrad, {b.dy(0), b.in(0)}, attrs, "wgrad"));
}

int64_t macs(const Graph& g, const Node& n) {
  const auto &y = g[n.out[0]].dims, &w = g[n.in[1]].dims;
  return y[0] * y[1] * y[2] * y[3] * w[1] * w[2] * w[3];
}

const OpRule kRules[] = {
    {Op::conv2d, "conv2d", 2, 2, sizeof(ConvAttrs), infer_forward, gradient, macs},
    {Op::conv2d_dgrad, "conv2d_dgrad", 2, 2, sizeof(ConvAttrs), infer_dgrad},
    {Op::conv2d_wgrad, "conv2d_wgrad", 2, 2, sizeof(ConvAttrs), infer_wgrad},
};

}  // namespace

std::span<const OpRule> conv2d_rules() { return kRules; }

}  // namespace convoy::ir
