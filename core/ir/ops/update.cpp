// Update operators: parameters and optimiser state change in place; formulas stand in convoy/ops.hpp.
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

#include <fmt/format.h>

namespace convoy::ir {

namespace {

/// Parameter, gradient and `states` more of one shape, then a scalar learning rate.
void check_update(const Inference& n, std::size_t states) {
  for (std::size_t i = 0; i < 2 + states; ++i) {
    if (i < 2 && !n.has(i)) n.refuse(fmt::format("input {} is absent", i));
    if (!n.has(i)) continue;
    n.need_type(i, DType::f32);
    n.need_same_shape(0, i);
  }
  if (!n.has(2 + states)) n.refuse("the learning rate is absent");
  n.need_rank(2 + states, 0);
  n.need_type(2 + states, DType::f32);
}

void give_state(Inference& n, std::size_t i) {
  if (n.has(i))
    n.give_in_place(i);
  else
    n.give_nothing();
}

void infer_sgd(Inference& n) {
  check_update(n, 1);
  if ((n.attrs<SgdAttrs>().momentum != 0) != n.has(2)) n.refuse("momentum and its buffer go together");
  n.give_in_place(0);
  give_state(n, 2);
}

void infer_lars(Inference& n) {
  check_update(n, 1);
  if (!n.has(2)) n.refuse("the momentum buffer is absent");
  n.give_in_place(0);
  n.give_in_place(2);
}

void infer_rmsprop(Inference& n) {
  check_update(n, 2);
  if (!n.has(2)) n.refuse("the square average is absent");
  if ((n.attrs<RmspropAttrs>().momentum != 0) != n.has(3)) n.refuse("momentum and its buffer go together");
  n.give_in_place(0);
  n.give_in_place(2);
  give_state(n, 3);
}

void infer_adamw(Inference& n) {
  check_update(n, 2);
  if (!n.has(2) || !n.has(3)) n.refuse("a moment is absent");
  n.need_rank(5, 0);
  for (std::size_t i : {0u, 2u, 3u}) n.give_in_place(i);
}

void infer_ema(Inference& n) {
  n.need_same_shape(0, 1);
  n.give_in_place(0);
}

void infer_unscale_check(Inference& n) {
  n.need_rank(0, 0);
  n.give(DType::i32, {});
  n.give(DType::f32, {});
}

const OpRule kRules[] = {
    {Op::sgd, "sgd", 4, 4, sizeof(SgdAttrs), infer_sgd},
    {Op::lars, "lars", 4, 4, sizeof(LarsAttrs), infer_lars},
    {Op::rmsprop, "rmsprop", 5, 5, sizeof(RmspropAttrs), infer_rmsprop},
    {Op::adamw, "adamw", 6, 6, sizeof(AdamwAttrs), infer_adamw},
    {Op::ema, "ema", 2, 2, sizeof(EmaAttrs), infer_ema},
    {Op::unscale_check, "unscale_check", 2, kAnyNumber, sizeof(UnscaleCheckAttrs), infer_unscale_check},
};

}  // namespace

std::span<const OpRule> update_rules() { return kRules; }

}  // namespace convoy::ir
