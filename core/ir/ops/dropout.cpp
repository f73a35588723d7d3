// Dropout by counter, and its gradient, which draws the same numbers again.
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

#include <fmt/format.h>

namespace convoy::ir {

namespace {

void infer(Inference& n) {
  n.need_type(1, DType::i64);
  if (n.in(1).dims != std::vector<int64_t>{4}) n.refuse("the random counter must have shape (4)");
  const auto a = n.attrs<DropoutAttrs>();
  if (!(a.p >= 0 && a.p < 1)) n.refuse(fmt::format("p is {}; 0 to below 1 is allowed", a.p));
  n.give_like(0);
}

void gradient(Backward& b) { b.set(0, b.emit_one(Op::dropout_grad, {b.dy(0), b.in(1)}, b.node().attrs, "grad")); }

const OpRule kRules[] = {
    {Op::dropout, "dropout", 2, 2, sizeof(DropoutAttrs), infer, gradient},
    {Op::dropout_grad, "dropout_grad", 2, 2, sizeof(DropoutAttrs), infer},
};

}  // namespace

std::span<const OpRule> dropout_rules() { return kRules; }

}  // namespace convoy::ir
