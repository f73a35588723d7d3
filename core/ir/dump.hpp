// A graph as text, one node a line, for people and for tests that compare graphs. Not a file format.
#pragma once

#include "ir/graph.hpp"

#include <string>

namespace convoy::ir {

/// "forward   conv1 = conv2d(%0:images (2,3,8,8), %1:conv1.weight (4,3,3,3)) -> %2 (2,4,8,8)": values by number,
/// boundary values with their names, "-" for an absent one, gradients with bucket and offset: "@0+64".
std::string dump(const Graph& graph);

}  // namespace convoy::ir
