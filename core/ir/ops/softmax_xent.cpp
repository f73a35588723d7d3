// Softmax cross-entropy with counters, and its gradient: where the chain of gradients begins.
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

#include <fmt/format.h>

namespace convoy::ir {

namespace {

void check(const Inference& n) {
  n.need_rank(0, 2);
  n.need_float(0);
  n.need_type(1, DType::i32);
  if (n.in(1).dims != std::vector<int64_t>{n.in(0).dims[0]})
    n.refuse(fmt::format("labels have shape {}; ({}) is expected, one a sample", shape_text(n.in(1).dims), n.in(0).dims[0]));
  const double s = n.attrs<SoftmaxXentAttrs>().label_smoothing;
  if (!(s >= 0 && s < 1)) n.refuse(fmt::format("label_smoothing is {}; 0 to below 1 is allowed", s));
}

void infer_forward(Inference& n) {
  check(n);
  n.give(DType::f32, {});
  n.give(n.in(0).dtype, n.in(0).dims);
  n.give(DType::i32, {});
  n.give(DType::i32, {});
}

void infer_grad(Inference& n) {
  check(n);
  n.need_f32_scalar(2);
  n.give_like(0);
}

void gradient(Backward& b) {
  b.set(0, b.emit_one(Op::softmax_xent_grad, {b.out(1), b.in(1), b.dy()}, b.node().attrs, "grad"));
}

const OpRule kRules[] = {
    {.op = Op::softmax_xent, .name = "softmax_xent", .min_inputs = 2, .max_inputs = 2,
     .attrs_size = sizeof(SoftmaxXentAttrs), .infer = infer_forward, .gradient = gradient},
    {.op = Op::softmax_xent_grad, .name = "softmax_xent_grad", .min_inputs = 3, .max_inputs = 3,
     .attrs_size = sizeof(SoftmaxXentAttrs), .earliest = Phase::backward, .infer = infer_grad},
};

}  // namespace

std::span<const OpRule> softmax_xent_rules() { return kRules; }

}  // namespace convoy::ir
