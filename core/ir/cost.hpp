// What a graph costs on paper: multiply-adds and parameters. Not a prediction of time.
#pragma once

#include "ir/graph.hpp"

#include <cstdint>

namespace convoy::ir {

struct Cost {
  int64_t macs = 0;        // multiply-adds of convolutions and linear layers in the forward phase, whole batch
  int64_t parameters = 0;  // trained and frozen
  int64_t trainable = 0;
  int64_t buffers = 0;     // elements of running statistics, not of optimiser state
};

/// Multiply-adds of one forward node over the whole batch, 0 for an operator that is not counted.
int64_t macs_of(const Graph& graph, const Node& node);

Cost cost_of(const Graph& graph);

}  // namespace convoy::ir
