// bias_add along dimension 1, and its gradient.
#include "ir/op_rule.hpp"

namespace convoy::ir {

namespace {

void need_rank_2_or_4(const Inference& n) {
  if (n.in(0).dims.size() != 2) n.need_rank(0, 4);
}

void infer_add(Inference& n) {
  need_rank_2_or_4(n);
  n.need_channel_vector(1, n.in(0).dims[1]);
  n.give_like(0);
}

void infer_grad(Inference& n) {
  need_rank_2_or_4(n);
  n.give(DType::f32, {n.in(0).dims[1]});
}

void gradient(Backward& b) {
  b.set(0, b.dy(0));
  if (b.needed(1)) b.set(1, b.emit_one(Op::bias_grad, {b.dy(0)}, {}, "bias_grad"));
}

const OpRule kRules[] = {
    {Op::bias_add, "bias_add", 2, 2, 0, infer_add, gradient},
    {Op::bias_grad, "bias_grad", 1, 1, 0, infer_grad},
};

}  // namespace

std::span<const OpRule> bias_rules() { return kRules; }

}  // namespace convoy::ir
