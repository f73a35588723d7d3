// bias_add along dimension 1, and its gradient.
#include "ir/op_rule.hpp"

#include <fmt/format.h>

namespace convoy::ir {

namespace {

void check_input(const Inference& n) {
  const std::size_t rank = n.in(0).dims.size();
  if (rank != 2 && rank != 4) n.refuse(fmt::format("input 0 has {} dimensions, 2 or 4 are expected", rank));
  n.need_float(0);
}

void infer_add(Inference& n) {
  check_input(n);
  n.need_channel_vector(1, n.in(0).dims[1]);
  n.give_like(0);
}

void infer_grad(Inference& n) {
  check_input(n);
  n.give(DType::f32, {n.in(0).dims[1]});
}

void gradient(Backward& b) {
  b.set(0, b.dy());
  if (b.needed(1)) b.set(1, b.emit_one(Op::bias_grad, {b.dy()}, {}, "grad"));
}

const OpRule kRules[] = {
    {.op = Op::bias_add, .name = "bias_add", .min_inputs = 2, .max_inputs = 2, .infer = infer_add, .gradient = gradient},
    {.op = Op::bias_grad, .name = "bias_grad", .min_inputs = 1, .max_inputs = 1, .earliest = Phase::backward,
     .infer = infer_grad},
};

}  // namespace

std::span<const OpRule> bias_rules() { return kRules; }

}  // namespace convoy::ir
