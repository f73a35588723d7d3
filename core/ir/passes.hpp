// The core's clean-up passes. They remove nodes and never renumber values; no fusion, no layout: those are a
// backend's.
#pragma once

#include "ir/graph.hpp"

namespace convoy::ir {

/// Removes nodes on which no output, gradient, in-place update or marker depends. Values stay, unproduced.
void eliminate_dead(Graph& graph);

/// Lets nodes that compute the same thing from the same values share one result. Nodes that write boundary
/// values are left alone.
void merge_common(Graph& graph);

}  // namespace convoy::ir
