// From a graph to a schedule of steps: groups nodes, lowers each group. Choosing plans and planning memory come after,
// and only where the graph is compiled for good.
#pragma once

#include "fusion.hpp"
#include "graph_index.hpp"
#include "lowering.hpp"
#include "plan_search.hpp"
#include "schedule.hpp"
#include "settings.hpp"

#include <memory>
#include <string>
#include <vector>

namespace convoy::cuda {

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

/// Lowers the whole graph without device work. Nodes that cannot run are noted as refused, and then the schedule must
/// not be used. `search` collects the problems to be solved.
Compiled lower_graph(const GraphView& view, PlanSearch& search, const Settings& settings);

/// ICompiler's two calls. Errors: unsupported, with all reasons; out_of_memory, with what would fit.
void check_graph(const GraphView& view, const Settings& settings, INodeReport& out);
IExecutable* compile_graph(const CompileRequest& r, const Settings& settings);

}  // namespace convoy::cuda
