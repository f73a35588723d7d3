// Checks a finished graph. A failure is a bug of whoever built it: models are checked call by call before.
#pragma once

#include "ir/graph.hpp"

namespace convoy::ir {

/// Every node agrees with its operator's rule; each value is written once, before it is read; boundary values have
/// unique names; a value updated in place is not read in its old content afterwards; outputs and gradients are
/// written. Gradients are read by nothing before the update. Where buckets were planned: gradients do not overlap in
/// them, each bucket has its two markers, and no update looks at a bucket before its params_needed.
/// Errors: bug, naming the node or the value.
void verify(const Graph& graph);

}  // namespace convoy::ir
