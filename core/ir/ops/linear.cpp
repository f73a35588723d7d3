// linear and its two gradients.
#include "ir/op_rule.hpp"

#include <fmt/format.h>

namespace convoy::ir {

namespace {

void need_matrices(const Inference& n) {
  n.need_rank(0, 2);
  n.need_rank(1, 2);
  n.need_float(0);
  n.need_same_type(0, 1);
}

void infer_forward(Inference& n) {
  need_matrices(n);
  const auto &x = n.in(0).dims, &w = n.in(1).dims;
  if (x[1] != w[1]) n.refuse(fmt::format("the input has {} features, the weights take {}", x[1], w[1]));
  n.give(n.in(0).dtype, {x[0], w[0]});
}

void infer_dgrad(Inference& n) {
  need_matrices(n);
  const auto &dy = n.in(0).dims, &w = n.in(1).dims;
  if (dy[1] != w[0]) n.refuse(fmt::format("the gradient has {} output features, the weights {}", dy[1], w[0]));
  n.give(n.in(0).dtype, {dy[0], w[1]});
}

void infer_wgrad(Inference& n) {
  need_matrices(n);
  const auto &dy = n.in(0).dims, &x = n.in(1).dims;
  if (dy[0] != x[0]) n.refuse(fmt::format("the gradient has {} samples, the input {}", dy[0], x[0]));
  n.give(DType::f32, {dy[1], x[1]});
}

void gradient(Backward& b) {
  if (b.needed(0)) b.set(0, b.emit_one(Op::linear_dgrad, {b.dy(), b.in(1)}, {}, "dgrad"));
  if (b.needed(1)) b.set(1, b.emit_one(Op::linear_wgrad, {b.dy(), b.in(0)}, {}, "wgrad"));
}

int64_t macs(const Graph& g, const Node& n) {
  const auto &x = g[n.in[0]].dims, &w = g[n.in[1]].dims;
  return saturating_product({x[0], w[0], w[1]});
}

const OpRule kRules[] = {
    {.op = Op::linear, .name = "linear", .min_inputs = 2, .max_inputs = 2,
     .infer = infer_forward, .gradient = gradient, .macs = macs},
    {.op = Op::linear_dgrad, .name = "linear_dgrad", .min_inputs = 2, .max_inputs = 2, .earliest = Phase::backward,
     .infer = infer_dgrad},
    {.op = Op::linear_wgrad, .name = "linear_wgrad", .min_inputs = 2, .max_inputs = 2, .earliest = Phase::backward,
     .infer = infer_wgrad},
};

}  // namespace

std::span<const OpRule> linear_rules() { return kRules; }

}  // namespace convoy::ir
