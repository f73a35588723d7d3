// Markers: order only. They take gradients or parameters of one bucket and give nothing.
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

#include <fmt/format.h>

namespace convoy::ir {

namespace {

void need_roles(const Inference& n, Role role, const char* what) {
  for (std::size_t i = 0; i < n.inputs(); ++i)
    if (n.in(i).role != role) n.refuse(fmt::format("input {}, '{}', is no {}", i, n.in(i).name, what));
}

void infer_ready(Inference& n) { need_roles(n, Role::grad, "gradient"); }

void infer_needed(Inference& n) { need_roles(n, Role::param, "parameter"); }

const OpRule kRules[] = {
    {.op = Op::grads_ready, .name = "grads_ready", .min_inputs = 1, .max_inputs = kAnyNumber,
     .attrs_size = sizeof(MarkerAttrs), .earliest = Phase::marker, .infer = infer_ready},
    {.op = Op::params_needed, .name = "params_needed", .min_inputs = 1, .max_inputs = kAnyNumber,
     .attrs_size = sizeof(MarkerAttrs), .earliest = Phase::marker, .infer = infer_needed},
};

}  // namespace

std::span<const OpRule> marker_rules() { return kRules; }

}  // namespace convoy::ir
