// A graph as text, one node a line, for people and for tests that compare graphs.
#pragma once

#include "ir/graph.hpp"

#include <string>

namespace convoy::ir {

/// "forward  conv1 = conv2d(images (2,3,8,8), conv1.weight (4,3,3,3)) -> (2,4,8,8)".
std::string dump(const Graph& graph);

}  // namespace convoy::ir
