// Local response normalisation across channels, and its gradient.
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

#include <fmt/format.h>

#include <cmath>

namespace convoy::ir {

namespace {

void check(const Inference& n) {
  n.need_rank(0, 4);
  n.need_float(0);
  const auto a = n.attrs<LrnAttrs>();
  if (a.size < 1 || a.size % 2 == 0) n.refuse(fmt::format("size is {}; an odd number of channels is expected", a.size));
  if (!(a.k > 0) || !std::isfinite(a.k)) n.refuse(fmt::format("k is {}; it must be positive", a.k));
  // A negative alpha could make the base of the power negative.
  if (!(a.alpha >= 0) || !std::isfinite(a.alpha)) n.refuse(fmt::format("alpha is {}; 0 or more is allowed", a.alpha));
  if (!std::isfinite(a.beta)) n.refuse(fmt::format("beta is {}; it must be finite", a.beta));
}

void infer_forward(Inference& n) {
  check(n);
  n.give_like(0);
}

void infer_grad(Inference& n) {
  check(n);
  n.need_alike(0, 1);
  n.need_alike(0, 2);
  n.give_like(1);
}

void gradient(Backward& b) {
  b.set(0, b.emit_one(Op::lrn_grad, {b.dy(), b.in(0), b.out(0)}, b.node().attrs, "grad"));
}

const OpRule kRules[] = {
    {.op = Op::lrn, .name = "lrn", .min_inputs = 1, .max_inputs = 1, .attrs_size = sizeof(LrnAttrs),
     .infer = infer_forward, .gradient = gradient},
    {.op = Op::lrn_grad, .name = "lrn_grad", .min_inputs = 3, .max_inputs = 3, .attrs_size = sizeof(LrnAttrs),
     .earliest = Phase::backward, .infer = infer_grad},
};

}  // namespace

std::span<const OpRule> lrn_rules() { return kRules; }

}  // namespace convoy::ir
