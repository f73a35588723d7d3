// relu and its gradient, which needs the output only.
#include "ir/op_rule.hpp"

#include <algorithm>

namespace convoy::ir {

namespace {

void infer_forward(Inference& n) {
  n.need_float(0);
  n.give_like(0);
}

void infer_grad(Inference& n) {
  n.need_float(0);
  n.need_alike(0, 1);
  n.give_like(0);
}

void gradient(Backward& b) { b.set(0, b.emit_one(Op::relu_grad, {b.dy(), b.out(0)}, {}, "grad")); }

double positive_part(const std::vector<double>& in) { return std::max(in[0], 0.0); }

const OpRule kRules[] = {
    {.op = Op::relu, .name = "relu", .min_inputs = 1, .max_inputs = 1,
     .infer = infer_forward, .gradient = gradient, .constant = positive_part},
    {.op = Op::relu_grad, .name = "relu_grad", .min_inputs = 2, .max_inputs = 2, .earliest = Phase::backward,
     .infer = infer_grad},
};

}  // namespace

std::span<const OpRule> relu_rules() { return kRules; }

}  // namespace convoy::ir
