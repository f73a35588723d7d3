// Reverse-mode differentiation, graph to graph: appends the backward nodes that the parameters' gradients need.
// Once, in the core; no backend and no model ever differentiates.
#pragma once

#include "ir/graph.hpp"

#include <utility>
#include <vector>

namespace convoy::ir {

/// (parameter, gradient), in the order in which the parameters were made. A parameter on which the loss does
/// not depend has no row.
struct Gradients {
  std::vector<std::pair<Value, Value>> pairs;
};

/// d(scale * loss) / d(parameter) for every parameter. `loss` and `scale` are f32 scalars; `scale` stands for
/// loss scaling and sample weights together. Gradients have role grad and are called "grad:<parameter>"; nothing
/// else reads them, so a strategy may reduce them in place as soon as they are written.
/// Nothing is emitted that leads to no parameter: no input gradient of a first layer.
/// Errors: usage, naming the operator, where a path from a parameter to the loss has no gradient rule, or where
/// loss or scale is no scalar. The graph is then half differentiated: throw it away.
Gradients differentiate(Graph& graph, Value loss, Value scale);

}  // namespace convoy::ir
