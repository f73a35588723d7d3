// Which nodes are computed together, by one plan or kernel.
// Decides by the shape of the graph alone; which plan is fastest is the search's question.
#pragma once

#include "graph_index.hpp"

#include <vector>

namespace convoy::cuda {

/// Nodes computed together, in graph order. `leader` names the lowering: the convolution of a convolution with bias
/// and ReLU. The group's work is put where node `position` stands: there all inputs exist, and nobody has asked for
/// an output yet.
struct Group {
  uint32_t leader = kNoNode;
  std::vector<uint32_t> nodes;
  uint32_t position = kNoNode;

  /// The member with this operator; kNoNode where there is none.
  uint32_t member(const GraphIndex& g, Op op) const {
    for (uint32_t n : nodes)
      if (g.node(n).op == op) return n;
    return kNoNode;
  }
};

/// Every node is in exactly one group; groups stand in order of position. Groups of more than one node:
///
///   conv2d [bias_add] [batch_norm_infer] [add] [relu]     the two in the middle without a backward pass only
///   linear [bias_add] [relu]
///   batch_norm [add] [relu], batch_norm_infer [add] [relu]
///   add [relu]
///   [add_n] [relu_grad] batch_norm_grad                   where the forward chain is a group, too
///   [relu_grad] bias_grad
///   [add_n] relu_grad
///   sgd sgd ...                                           one behind the other, with the same rate and constants
///
/// `fuse` = false: a group for each node.
std::vector<Group> group_nodes(const GraphIndex& g, bool fuse);

}  // namespace convoy::cuda
