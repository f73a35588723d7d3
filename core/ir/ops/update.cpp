// Update operators: parameters and optimiser state change in place; formulas stand in convoy/ops.hpp.
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

#include <fmt/format.h>

#include <cmath>

namespace convoy::ir {

namespace {

/// Parameter, gradient and `states` more of one shape, then a scalar learning rate.
void check_update(const Inference& n, std::size_t states) {
  for (std::size_t i = 0; i < 2 + states; ++i) {
    if (!n.has(i)) continue;
    n.need_type(i, DType::f32);
    n.need_alike(0, i);
  }
  n.need_f32_scalar(2 + states);
}

void need_not_negative(const Inference& n, const char* what, double value) {
  if (!(value >= 0) || !std::isfinite(value)) n.refuse(fmt::format("{} is {}; 0 or more is allowed", what, value));
}

void need_share(const Inference& n, const char* what, double value) {
  if (!(value >= 0 && value < 1)) n.refuse(fmt::format("{} is {}; 0 to below 1 is allowed", what, value));
}

void need_buffer_with_momentum(const Inference& n, double momentum, std::size_t buffer) {
  need_not_negative(n, "momentum", momentum);
  if ((momentum != 0) != n.has(buffer))
    n.refuse(fmt::format("momentum is {} and its buffer {}; they go together", momentum, n.has(buffer) ? "given" : "absent"));
}

void give_state(Inference& n, std::size_t i) {
  if (n.has(i))
    n.give_in_place(i, Role::state);
  else
    n.give_nothing();
}

void infer_sgd(Inference& n) {
  check_update(n, 1);
  const auto a = n.attrs<SgdAttrs>();
  need_buffer_with_momentum(n, a.momentum, 2);
  need_not_negative(n, "weight_decay", a.weight_decay);
  if (!std::isfinite(a.dampening)) n.refuse(fmt::format("dampening is {}; it must be finite", a.dampening));
  if (a.nesterov != 0 && (a.momentum == 0 || a.dampening != 0))
    n.refuse("Nesterov momentum needs momentum above 0 and no dampening");
  n.give_in_place(0, Role::param);
  give_state(n, 2);
}

void infer_lars(Inference& n) {
  check_update(n, 1);
  const auto a = n.attrs<LarsAttrs>();
  need_not_negative(n, "momentum", a.momentum);
  need_not_negative(n, "weight_decay", a.weight_decay);
  need_not_negative(n, "trust", a.trust);
  need_not_negative(n, "eps", a.eps);
  n.give_in_place(0, Role::param);
  n.give_in_place(2, Role::state);
}

void infer_rmsprop(Inference& n) {
  check_update(n, 2);
  const auto a = n.attrs<RmspropAttrs>();
  need_share(n, "alpha", a.alpha);
  need_not_negative(n, "eps", a.eps);
  need_buffer_with_momentum(n, a.momentum, 3);
  need_not_negative(n, "weight_decay", a.weight_decay);
  n.give_in_place(0, Role::param);
  n.give_in_place(2, Role::state);
  give_state(n, 3);
}

void infer_adamw(Inference& n) {
  check_update(n, 2);
  n.need_f32_scalar(5);
  const auto a = n.attrs<AdamwAttrs>();
  need_share(n, "beta1", a.beta1);
  need_share(n, "beta2", a.beta2);
  need_not_negative(n, "eps", a.eps);
  need_not_negative(n, "weight_decay", a.weight_decay);
  n.give_in_place(0, Role::param);
  n.give_in_place(2, Role::state);
  n.give_in_place(3, Role::state);
}

void infer_ema(Inference& n) {
  n.need_type(0, DType::f32);
  n.need_alike(0, 1);
  const double decay = n.attrs<EmaAttrs>().decay;
  if (!(decay >= 0 && decay <= 1)) n.refuse(fmt::format("decay is {}; 0 to 1 is allowed", decay));
  n.give_in_place(0, Role::state);
}

void infer_unscale_check(Inference& n) {
  n.need_f32_scalar(0);
  for (std::size_t i = 1; i < n.inputs(); ++i) n.need_float(i);
  need_not_negative(n, "clip_norm", n.attrs<UnscaleCheckAttrs>().clip_norm);
  n.give(DType::i32, {});
  n.give(DType::f32, {});
}

constexpr OpRule rule(Op op, const char* name, uint32_t inputs, uint64_t attrs_size, void (*infer)(Inference&),
                      uint32_t optional_inputs = 0) {
  return {.op = op, .name = name, .min_inputs = inputs, .max_inputs = inputs, .optional_inputs = optional_inputs,
          .attrs_size = attrs_size, .earliest = Phase::update, .infer = infer};
}

const OpRule kRules[] = {
    rule(Op::sgd, "sgd", 4, sizeof(SgdAttrs), infer_sgd, 1u << 2),
    rule(Op::lars, "lars", 4, sizeof(LarsAttrs), infer_lars),
    rule(Op::rmsprop, "rmsprop", 5, sizeof(RmspropAttrs), infer_rmsprop, 1u << 3),
    rule(Op::adamw, "adamw", 6, sizeof(AdamwAttrs), infer_adamw),
    rule(Op::ema, "ema", 2, sizeof(EmaAttrs), infer_ema),
    {.op = Op::unscale_check, .name = "unscale_check", .min_inputs = 2, .max_inputs = kAnyNumber,
     .attrs_size = sizeof(UnscaleCheckAttrs), .earliest = Phase::update, .infer = infer_unscale_check},
};

}  // namespace

std::span<const OpRule> update_rules() { return kRules; }

}  // namespace convoy::ir
