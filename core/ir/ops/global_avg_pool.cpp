// global_avg_pool: (N,C,H,W) to (N,C), and its gradient.
#include "ir/op_rule.hpp"
#include "ir/window.hpp"

#include <convoy/ops.hpp>

namespace convoy::ir {

namespace {

void infer_forward(Inference& n) {
  n.need_rank(0, 4);
  n.need_float(0);
  const auto& x = n.in(0).dims;
  auto a = n.attrs<GlobalPoolAttrs>();
  take_size(n, "the input size", a.input_size, x);
  n.set_attrs(a);
  n.give(n.in(0).dtype, {x[0], x[1]});
}

void infer_grad(Inference& n) {
  n.need_rank(0, 2);
  n.need_float(0);
  const auto a = n.attrs<GlobalPoolAttrs>();
  for (int32_t size : a.input_size) n.need_positive("input size", size);
  n.give(n.in(0).dtype, {n.in(0).dims[0], n.in(0).dims[1], a.input_size[0], a.input_size[1]});
}

void gradient(Backward& b) { b.set(0, b.emit_one(Op::global_avg_pool_grad, {b.dy()}, b.node().attrs, "grad")); }

const OpRule kRules[] = {
    {.op = Op::global_avg_pool, .name = "global_avg_pool", .min_inputs = 1, .max_inputs = 1,
     .attrs_size = sizeof(GlobalPoolAttrs), .attrs_optional = true, .infer = infer_forward, .gradient = gradient},
    {.op = Op::global_avg_pool_grad, .name = "global_avg_pool_grad", .min_inputs = 1, .max_inputs = 1,
     .attrs_size = sizeof(GlobalPoolAttrs), .earliest = Phase::backward, .infer = infer_grad},
};

}  // namespace

std::span<const OpRule> global_avg_pool_rules() { return kRules; }

}  // namespace convoy::ir
