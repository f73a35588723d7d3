// Batch normalisation: with batch statistics, with running ones, and the gradient of the first.
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

#include <fmt/format.h>

#include <cmath>

namespace convoy::ir {

namespace {

void check_attrs(const Inference& n) {
  const auto a = n.attrs<BatchNormAttrs>();
  if (!(a.eps > 0) || !std::isfinite(a.eps)) n.refuse(fmt::format("eps is {}; it must be positive", a.eps));
  if (!(a.momentum >= 0 && a.momentum <= 1)) n.refuse(fmt::format("momentum is {}; 0 to 1 is allowed", a.momentum));
}

void check(const Inference& n) {
  n.need_rank(0, 4);
  n.need_float(0);
  for (std::size_t i = 1; i < 5; ++i) n.need_channel_vector(i, n.in(0).dims[1]);
  check_attrs(n);
}

void infer_train(Inference& n) {
  check(n);
  const int64_t channels = n.in(0).dims[1];
  n.give_like(0);
  n.give(DType::f32, {channels});
  n.give(DType::f32, {channels});
  n.give_in_place(3, Role::state);
  n.give_in_place(4, Role::state);
}

void infer_infer(Inference& n) {
  check(n);
  n.give_like(0);
}

void infer_grad(Inference& n) {
  n.need_rank(0, 4);
  n.need_float(0);
  n.need_alike(0, 1);
  const int64_t channels = n.in(0).dims[1];
  for (std::size_t i = 2; i < 5; ++i) n.need_channel_vector(i, channels);
  check_attrs(n);
  n.give_like(1);
  n.give(DType::f32, {channels});
  n.give(DType::f32, {channels});
}

void gradient(Backward& b) {
  const auto d = b.emit(Op::batch_norm_grad, {b.dy(), b.in(0), b.in(1), b.out(1), b.out(2)}, b.node().attrs, "grad");
  for (std::size_t i = 0; i < 3; ++i) b.set(i, d[i]);
}

const OpRule kRules[] = {
    {.op = Op::batch_norm, .name = "batch_norm", .min_inputs = 5, .max_inputs = 5,
     .attrs_size = sizeof(BatchNormAttrs), .infer = infer_train, .gradient = gradient},
    {.op = Op::batch_norm_infer, .name = "batch_norm_infer", .min_inputs = 5, .max_inputs = 5,
     .attrs_size = sizeof(BatchNormAttrs), .infer = infer_infer},
    {.op = Op::batch_norm_grad, .name = "batch_norm_grad", .min_inputs = 5, .max_inputs = 5,
     .attrs_size = sizeof(BatchNormAttrs), .earliest = Phase::backward, .infer = infer_grad},
};

}  // namespace

std::span<const OpRule> batch_norm_rules() { return kRules; }

}  // namespace convoy::ir
