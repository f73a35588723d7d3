// global_avg_pool: (N,C,H,W) to (N,C), and its gradient.
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

namespace convoy::ir {

namespace {

void infer_forward(Inference& n) {
  n.need_rank(0, 4);
  const auto& x = n.in(0).dims;
  GlobalPoolAttrs a{};
  a.input_size[0] = static_cast<int32_t>(x[2]);
  a.input_size[1] = static_cast<int32_t>(x[3]);
  n.set_attrs(a);
  n.give(n.in(0).dtype, {x[0], x[1]});
}

void infer_grad(Inference& n) {
  n.need_rank(0, 2);
  const auto a = n.attrs<GlobalPoolAttrs>();
  n.give(n.in(0).dtype, {n.in(0).dims[0], n.in(0).dims[1], a.input_size[0], a.input_size[1]});
}

void gradient(Backward& b) { b.set(0, b.emit_one(Op::global_avg_pool_grad, {b.dy(0)}, b.node().attrs, "grad")); }

const OpRule kRules[] = {
    {Op::global_avg_pool, "global_avg_pool", 1, 1, 0, infer_forward, gradient},
    {Op::global_avg_pool_grad, "global_avg_pool_grad", 1, 1, sizeof(GlobalPoolAttrs), infer_grad},
};

}  // namespace

std::span<const OpRule> global_avg_pool_rules() { return kRules; }

}  // namespace convoy::ir
