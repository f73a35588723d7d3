// relu and its gradient, which needs the output only.
#include "ir/op_rule.hpp"

namespace convoy::ir {

namespace {

void infer_forward(Inference& n) { n.give_like(0); }

void infer_grad(Inference& n) {
  n.need_same_shape(0, 1);
  n.give_like(0);
}

void gradient(Backward& b) { b.set(0, b.emit_one(Op::relu_grad, {b.dy(0), b.out(0)}, {}, "grad")); }

const OpRule kRules[] = {
    {Op::relu, "relu", 1, 1, 0, infer_forward, gradient},
    {Op::relu_grad, "relu_grad", 2, 2, 0, infer_grad},
};

}  // namespace

std::span<const OpRule> relu_rules() { return kRules; }

}  // namespace convoy::ir
