// max_pool and its gradient.
#include "ir/pool_rule.hpp"

namespace convoy::ir {

namespace {

void infer_forward(Inference& n) { n.give(n.in(0).dtype, infer_pool(n)); }

void infer_grad(Inference& n) {
  n.need_same_shape(0, 2);
  n.give_like(1);
}

void gradient(Backward& b) {
  b.set(0, b.emit_one(Op::max_pool_grad, {b.dy(0), b.in(0), b.out(0)}, b.node().attrs, "grad"));
}

const OpRule kRules[] = {
    {Op::max_pool, "max_pool", 1, 1, sizeof(PoolAttrs), infer_forward, gradient},
    {Op::max_pool_grad, "max_pool_grad", 3, 3, sizeof(PoolAttrs), infer_grad},
};

}  // namespace

std::span<const OpRule> max_pool_rules() { return kRules; }

}  // namespace convoy::ir
