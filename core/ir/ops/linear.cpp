// linear and its two gradients.
#include "ir/op_rule.hpp"

#include <fmt/format.h>

namespace convoy::ir {

namespace {

void infer_forward(Inference& n) {
  n.need_rank(0, 2);
  n.need_rank(1, 2);
  const auto &x = n.in(0).dims, &w = n.in(1).dims;
  if (x[1] != w[1]) n.refuse(fmt::format("the input has {} features, the weights take {}", x[1], w[1]));
  n.give(n.in(0).dtype, {x[0], w[0]});
}

void infer_dgrad(Inference& n) {
  n.need_rank(0, 2);
  n.need_rank(1, 2);
  const auto &dy = n.in(0).dims, &w = n.in(1).dims;
  if (dy[1] != w[0]) n.refuse("output features of gradient and weights differ");
  n.give(n.in(0).dtype, {dy[0], w[1]});
}

void infer_wgrad(Inference& n) {
  n.need_rank(0, 2);
  n.need_rank(1, 2);
  const auto &dy = n.in(0).dims, &x = n.in(1).dims;
  if (dy[0] != x[0]) n.refuse("samples of gradient and input differ");
  n.give(DType::f32, {dy[1], x[1]});
}

void gradient(Backward& b) {
  if (b.needed(0)) b.set(0, b.emit_one(Op::linear_dgrad, {b.dy(0), b.in(1)}, {}, "dgrad"));
  if (b.needed(1)) b.set(1, b.emit_one(Op::linear_wgrad, {b.dy(0), b.in(0)}, {}, "wgrad"));
}

int64_t macs(const Graph& g, const Node& n) {
  const auto &x = g[n.in[0]].dims, &w = g[n.in[1]].dims;
  return x[0] * w[0] * w[1];
}

const OpRule kRules[] = {
    {Op::linear, "linear", 2, 2, 0, infer_forward, gradient, macs},
    {Op::linear_dgrad, "linear_dgrad", 2, 2, 0, infer_dgrad},
    {Op::linear_wgrad, "linear_wgrad", 2, 2, 0, infer_wgrad},
};

}  // namespace

std::span<const OpRule> linear_rules() { return kRules; }

}  // namespace convoy::ir
