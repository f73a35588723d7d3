// Checks a finished graph. A failure is a bug of whoever built it: models are checked call by call before.
#pragma once

#include "ir/graph.hpp"

namespace convoy::ir {

/// Single assignment, definition before use, shapes as the rules give them, unique boundary names, and in-place
/// updates that no later node reads around. Errors: bug, naming node and value.
void verify(const Graph& graph);

}  // namespace convoy::ir
