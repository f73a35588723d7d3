#include "train/optimizer.hpp"

#include "error.hpp"
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

namespace convoy::train {

namespace {

Value add_state(ir::Graph& graph, const char* what, Value param) {
  ir::Tensor t;
  t.name = std::string(what) + ":" + graph[param].name;
  t.dims = graph[param].dims;
  t.role = Role::state;
  t.init = "zeros";
  return graph.add(std::move(t));
}

}  // namespace

void emit_sgd(ir::Graph& graph, const ir::Gradients& gradients, Value lr, const SgdOptions& options) {
  if (options.nesterov && (options.momentum <= 0 || options.dampening != 0))
    throw Error(ErrorKind::usage, "optimizer.nesterov needs optimizer.momentum above 0 and no dampening");
  SgdAttrs attrs{};
  attrs.struct_size = sizeof attrs;
  attrs.nesterov = options.nesterov ? 1 : 0;
  attrs.momentum = options.momentum;
  attrs.dampening = options.dampening;
  attrs.weight_decay = options.weight_decay;
  for (const auto& [param, grad] : gradients.pairs) {
    const Value buffer = options.momentum != 0 ? add_state(graph, "momentum", param) : kNoValue;
    ir::append_node(graph, Op::sgd, {param, grad, buffer, lr}, ir::pack(attrs), "sgd." + graph[param].name,
                    Phase::update);
  }
}

}  // namespace convoy::train
