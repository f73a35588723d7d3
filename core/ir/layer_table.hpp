// A graph as people read it: one row for each forward node, with what it holds and what it costs.
// On paper only: bytes are those of f32 values as the graph states them, not of what a backend keeps.
#pragma once

#include "ir/graph.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace convoy::ir {

struct Layer {
  std::string name;
  std::string op;
  std::vector<int64_t> output;  // dims of its first output
  int64_t parameters = 0;       // trained and frozen; a shared one counts where it is first used
  int64_t macs = 0;             // whole batch
  int64_t activation_bytes = 0;  // of its first output
  int64_t input_bytes = 0;       // activations read
  int64_t parameter_bytes = 0;
  int64_t gradient_bytes = 0;    // of its trained parameters
};

/// In the order in which they run. Needs no device.
std::vector<Layer> layer_table(const Graph& graph);

}  // namespace convoy::ir
