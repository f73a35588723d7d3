// conv2d and its two gradients: shapes, and the multiply-adds that papers count.
#include "ir/op_rule.hpp"
#include "ir/window.hpp"

#include <convoy/ops.hpp>

#include <fmt/format.h>

namespace convoy::ir {

namespace {

int64_t out_size(const ConvAttrs& a, int i) {
  return output_size({a.input_size[i], a.kernel[i], a.stride[i], a.pad_lo[i], a.pad_hi[i], a.dilation[i], false});
}

void check_attrs(const Inference& n, const ConvAttrs& a) {
  for (int i = 0; i < 2; ++i) {
    n.need_positive("stride", a.stride[i]);
    n.need_positive("dilation", a.dilation[i]);
    n.need_positive("kernel", a.kernel[i]);
    if (a.pad_lo[i] < 0 || a.pad_hi[i] < 0)
      n.refuse(fmt::format("padding {} and {}; 0 or more is allowed", a.pad_lo[i], a.pad_hi[i]));
  }
  n.need_positive("groups", a.groups);
  if (a.compute != DType::f32) n.refuse("sums are f32; compute must say so");
  if (out_size(a, 0) < 1 || out_size(a, 1) < 1)
    n.refuse(fmt::format("a {}x{} window with dilation {}x{} does not fit into {}x{} with this padding", a.kernel[0],
                         a.kernel[1], a.dilation[0], a.dilation[1], a.input_size[0], a.input_size[1]));
}

/// Weights (K, C/groups, R, S) beside `channels` of input.
void check_groups(const Inference& n, const ConvAttrs& a, int64_t channels, const std::vector<int64_t>& w) {
  if (channels % a.groups != 0 || w[0] % a.groups != 0)
    n.refuse(fmt::format("{} groups do not divide {} input and {} output channels evenly", a.groups, channels, w[0]));
  if (w[1] != channels / a.groups)
    n.refuse(fmt::format("the weights take {} channels a group; the input has {} in {} groups, so {} are expected", w[1],
                         channels, a.groups, channels / a.groups));
}

void need_images(const Inference& n) {
  n.need_rank(0, 4);
  n.need_rank(1, 4);
  n.need_float(0);
  n.need_same_type(0, 1);
}

void infer_forward(Inference& n) {
  need_images(n);
  auto a = n.attrs<ConvAttrs>();
  if (a.compute == DType{}) a.compute = DType::f32;
  const auto &x = n.in(0).dims, &w = n.in(1).dims;
  take_size(n, "the kernel", a.kernel, w);
  take_size(n, "the input size", a.input_size, x);
  check_attrs(n, a);
  check_groups(n, a, x[1], w);
  n.set_attrs(a);
  n.give(n.in(0).dtype, {x[0], w[0], out_size(a, 0), out_size(a, 1)});
}

/// Attributes of a gradient are complete: the forward node's.
ConvAttrs checked_attrs(const Inference& n) {
  need_images(n);
  const auto a = n.attrs<ConvAttrs>();
  check_attrs(n, a);
  const auto& dy = n.in(0).dims;
  if (dy[2] != out_size(a, 0) || dy[3] != out_size(a, 1))
    n.refuse(fmt::format("the output gradient is {}x{}, the attributes give {}x{}", dy[2], dy[3], out_size(a, 0),
                         out_size(a, 1)));
  return a;
}

void infer_dgrad(Inference& n) {
  auto a = checked_attrs(n);
  const auto &dy = n.in(0).dims, &w = n.in(1).dims;
  take_size(n, "the kernel", a.kernel, w);
  if (dy[1] != w[0]) n.refuse(fmt::format("the gradient has {} output channels, the weights {}", dy[1], w[0]));
  const int64_t channels = saturating_product({w[1], a.groups});
  check_groups(n, a, channels, w);
  n.give(n.in(0).dtype, {dy[0], channels, a.input_size[0], a.input_size[1]});
}

void infer_wgrad(Inference& n) {
  auto a = checked_attrs(n);
  const auto &dy = n.in(0).dims, &x = n.in(1).dims;
  take_size(n, "the input size", a.input_size, x);
  if (dy[0] != x[0]) n.refuse(fmt::format("the gradient has {} samples, the input {}", dy[0], x[0]));
  const std::vector<int64_t> w{dy[1], x[1] / a.groups, a.kernel[0], a.kernel[1]};
  check_groups(n, a, x[1], w);
  n.give(DType::f32, w);
}

void gradient(Backward& b) {
  const auto attrs = b.node().attrs;
  if (b.needed(0)) b.set(0, b.emit_one(Op::conv2d_dgrad, {b.dy(), b.in(1)}, attrs, "dgrad"));
  if (b.needed(1)) b.set(1, b.emit_one(Op::conv2d_wgrad, {b.dy(), b.in(0)}, attrs, "wgrad"));
}

int64_t macs(const Graph& g, const Node& n) {
  const auto &y = g[n.out[0]].dims, &w = g[n.in[1]].dims;
  return saturating_product({y[0], y[1], y[2], y[3], w[1], w[2], w[3]});
}

const OpRule kRules[] = {
    {.op = Op::conv2d, .name = "conv2d", .min_inputs = 2, .max_inputs = 2, .attrs_size = sizeof(ConvAttrs),
     .infer = infer_forward, .gradient = gradient, .macs = macs},
    {.op = Op::conv2d_dgrad, .name = "conv2d_dgrad", .min_inputs = 2, .max_inputs = 2, .attrs_size = sizeof(ConvAttrs),
     .earliest = Phase::backward, .infer = infer_dgrad},
    {.op = Op::conv2d_wgrad, .name = "conv2d_wgrad", .min_inputs = 2, .max_inputs = 2, .attrs_size = sizeof(ConvAttrs),
     .earliest = Phase::backward, .infer = infer_wgrad},
};

}  // namespace

std::span<const OpRule> conv2d_rules() { return kRules; }

}  // namespace convoy::ir
