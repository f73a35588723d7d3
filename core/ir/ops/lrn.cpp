// Local response normalisation across channels, and its gradient.
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

#include <fmt/format.h>

namespace convoy::ir {

namespace {

void infer_forward(Inference& n) {
  n.need_rank(0, 4);
  const auto a = n.attrs<LrnAttrs>();
  if (a.size < 1 || a.size % 2 == 0) n.refuse(fmt::format("size is {}; an odd number of channels is expected", a.size));
  if (!(a.k > 0)) n.refuse(fmt::format("k is {}; it must be positive", a.k));
  n.give_like(0);
}

void infer_grad(Inference& n) {
  n.need_same_shape(0, 1);
  n.need_same_shape(0, 2);
  n.give_like(1);
}

void gradient(Backward& b) {
  b.set(0, b.emit_one(Op::lrn_grad, {b.dy(0), b.in(0), b.out(0)}, b.node().attrs, "grad"));
}

const OpRule kRules[] = {
    {Op::lrn, "lrn", 1, 1, sizeof(LrnAttrs), infer_forward, gradient},
    {Op::lrn_grad, "lrn_grad", 3, 3, sizeof(LrnAttrs), infer_grad},
};

}  // namespace

std::span<const OpRule> lrn_rules() { return kRules; }

}  // namespace convoy::ir
