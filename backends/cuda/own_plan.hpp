// Plans that end in, or are, own kernels: a plain convolution with the epilogue behind it, and the direct convolution
// where no library has an engine.
#pragma once

#include "plan.hpp"

#include <memory>

namespace convoy::cuda {

/// `p` without its bias, add and relu.
ConvProblem bare(const ConvProblem& p);

/// What the name of such a plan ends in.
constexpr const char* kEpilogueMark = " + epilogue";

/// `plain` solves bare(p); an own kernel does the rest. Needs bias_f32.
std::shared_ptr<Plan> with_epilogue(const ConvProblem& p, std::shared_ptr<Plan> plain);

/// Right for any problem, slow for all.
std::shared_ptr<Plan> direct_plan(const ConvProblem& p);

}  // namespace convoy::cuda
