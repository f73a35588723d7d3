// The core's clean-up passes. They remove nodes and never renumber values; no fusion, no layout: those are a
// backend's. Boundary values and who writes them stay as they are; an activation may lose the node that made it.
#pragma once

#include "ir/graph.hpp"

namespace convoy::ir {

/// Removes nodes on which no output, gradient, in-place update or marker depends.
void eliminate_dead(Graph& graph);

/// Lets nodes that compute the same thing from the same values share one result. Nodes that write boundary
/// values and nodes that draw random numbers are left alone.
void merge_common(Graph& graph);

/// Passes on the input of nodes that change nothing (a cast to the same type, a reshape to the same shape, dropout
/// of nothing), and replaces by a fill what is computed from fills alone, where the operator's rule knows how.
void fold_constants(Graph& graph);

}  // namespace convoy::ir
