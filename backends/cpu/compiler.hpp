// From a graph to a schedule of steps: groups nodes, lowers each group, plans memory. Not the executable that runs it.
#pragma once

#include "fusion.hpp"
#include "graph_index.hpp"
#include "lowering.hpp"
#include "schedule.hpp"

#include <memory>
#include <string>
#include <vector>

namespace convoy::cpu {

/// How one node is computed.
struct NodeNote {
  Via via = Via::kernel;
  uint32_t group = 0;
  std::string text;
};

/// A lowered graph. Borrows the GraphView.
struct Compiled {
  std::unique_ptr<GraphIndex> graph;
  Schedule schedule;
  std::vector<NodeNote> notes;  // by node
  uint32_t backward_begin = 0;  // first step of the backward pass; the number of steps where there is none
  uint32_t refused = 0;         // nodes
};

/// Lowers the whole graph; no code is compiled yet. Nodes that cannot run are noted as refused, and then the schedule
/// must not be used. Uses the calling thread's number of OpenMP threads. `hooks` may be null.
Compiled lower_graph(const GraphView& view, IStepHooks* hooks);

}  // namespace convoy::cpu
