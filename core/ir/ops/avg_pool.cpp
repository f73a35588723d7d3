// avg_pool and its gradient, which needs no values, only the input's size.
#include "ir/pool_rule.hpp"

namespace convoy::ir {

namespace {

void infer_forward(Inference& n) { n.give(n.in(0).dtype, infer_pool(n)); }

void infer_grad(Inference& n) {
  n.need_rank(0, 4);
  const auto a = n.attrs<PoolAttrs>();
  const auto& dy = n.in(0).dims;
  if (dy[2] != pooled_size(a, 0) || dy[3] != pooled_size(a, 1)) n.refuse("the gradient's size does not fit the attributes");
  n.give(n.in(0).dtype, {dy[0], dy[1], a.input_size[0], a.input_size[1]});
}

void gradient(Backward& b) { b.set(0, b.emit_one(Op::avg_pool_grad, {b.dy(0)}, b.node().attrs, "grad")); }

const OpRule kRules[] = {
    {Op::avg_pool, "avg_pool", 1, 1, sizeof(PoolAttrs), infer_forward, gradient},
    {Op::avg_pool_grad, "avg_pool_grad", 1, 1, sizeof(PoolAttrs), infer_grad},
};

}  // namespace

std::span<const OpRule> avg_pool_rules() { return kRules; }

}  // namespace convoy::ir
