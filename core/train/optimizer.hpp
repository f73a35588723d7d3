// Optimisers as graph emitters: they add each parameter's update to the graph, where a backend can fuse it.
// Not a schedule: the learning rate is a scalar value that changes from step to step.
#pragma once

#include "ir/autodiff.hpp"
#include "ir/graph.hpp"

namespace convoy::train {

/// PyTorch's SGD. `weight_decay` applies to every parameter, BatchNorm and biases too.
struct SgdOptions {
  double momentum = 0;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
};

/// Adds one sgd node a parameter, and with momentum a state "momentum:<parameter>" of zeros; without it the node has
/// no buffer and its second output is absent. `lr` is an f32 scalar. From zeros the first step with dampening takes
/// (1 - dampening) g where PyTorch takes g; without dampening the two agree.
/// Errors: usage, where Nesterov momentum is asked for without momentum or with dampening, as in PyTorch.
void emit_sgd(ir::Graph& graph, const ir::Gradients& gradients, Value lr, const SgdOptions& options);

}  // namespace convoy::train
