// Markers: order only. They take gradients or parameters and give nothing.
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

namespace convoy::ir {

namespace {

void infer(Inference&) {}

const OpRule kRules[] = {
    {Op::grads_ready, "grads_ready", 1, kAnyNumber, sizeof(MarkerAttrs), infer},
    {Op::params_needed, "params_needed", 1, kAnyNumber, sizeof(MarkerAttrs), infer},
};

}  // namespace

std::span<const OpRule> marker_rules() { return kRules; }

}  // namespace convoy::ir
