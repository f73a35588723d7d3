// Dropout by counter, and its gradient, which draws the same numbers again.
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

#include <fmt/format.h>

namespace convoy::ir {

namespace {

void check(const Inference& n) {
  n.need_float(0);
  if (n.in(0).dims.empty()) n.refuse("a scalar has no samples to drop from");
  n.need_type(1, DType::i64);
  if (n.in(1).dims != std::vector<int64_t>{4})
    n.refuse(fmt::format("the random counter has shape {}; (4) is expected", shape_text(n.in(1).dims)));
  const auto a = n.attrs<DropoutAttrs>();
  if (!(a.p >= 0 && a.p < 1)) n.refuse(fmt::format("p is {}; 0 to below 1 is allowed", a.p));
}

/// Two dropouts of one stream would drop the same elements.
void need_own_stream(const Inference& n) {
  const uint32_t stream = n.attrs<DropoutAttrs>().stream;
  for (const Node& other : n.graph().nodes)
    if (other.op == Op::dropout && other.out != n.node().out && unpack<DropoutAttrs>(other).stream == stream)
      n.refuse(fmt::format("stream {} is already that of '{}'; each dropout needs its own", stream, other.name));
}

void infer_forward(Inference& n) {
  check(n);
  need_own_stream(n);
  n.give_like(0);
}

void infer_grad(Inference& n) {
  check(n);
  n.give_like(0);
}

void gradient(Backward& b) { b.set(0, b.emit_one(Op::dropout_grad, {b.dy(), b.in(1)}, b.node().attrs, "grad")); }

bool keeps_all(const Graph&, const Node& n) { return unpack<DropoutAttrs>(n).p == 0; }

const OpRule kRules[] = {
    {.op = Op::dropout, .name = "dropout", .min_inputs = 2, .max_inputs = 2, .attrs_size = sizeof(DropoutAttrs),
     .random = true, .infer = infer_forward, .gradient = gradient, .identity = keeps_all},
    {.op = Op::dropout_grad, .name = "dropout_grad", .min_inputs = 2, .max_inputs = 2,
     .attrs_size = sizeof(DropoutAttrs), .random = true, .earliest = Phase::backward,
     .infer = infer_grad, .identity = keeps_all},
};

}  // namespace

std::span<const OpRule> dropout_rules() { return kRules; }

}  // namespace convoy::ir
