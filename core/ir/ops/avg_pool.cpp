// avg_pool and its gradient, which needs no values, only the input's size.
#include "ir/pool_rule.hpp"

namespace convoy::ir {

namespace {

void infer_forward(Inference& n) { n.give(n.in(0).dtype, infer_pool(n)); }

void infer_grad(Inference& n) {
  const auto a = n.attrs<PoolAttrs>();
  check_pool_grad(n, a);
  n.give(n.in(0).dtype, {n.in(0).dims[0], n.in(0).dims[1], a.input_size[0], a.input_size[1]});
}

void gradient(Backward& b) { b.set(0, b.emit_one(Op::avg_pool_grad, {b.dy()}, b.node().attrs, "grad")); }

const OpRule kRules[] = {
    {.op = Op::avg_pool, .name = "avg_pool", .min_inputs = 1, .max_inputs = 1, .attrs_size = sizeof(PoolAttrs),
     .infer = infer_forward, .gradient = gradient},
    {.op = Op::avg_pool_grad, .name = "avg_pool_grad", .min_inputs = 1, .max_inputs = 1,
     .attrs_size = sizeof(PoolAttrs), .earliest = Phase::backward, .infer = infer_grad},
};

}  // namespace

std::span<const OpRule> avg_pool_rules() { return kRules; }

}  // namespace convoy::ir
