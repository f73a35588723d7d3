#include "ir/cost.hpp"

#include "ir/op_rule.hpp"

namespace convoy::ir {

namespace {

/// A colon in a name is optimiser state's: "momentum:conv1.weight".
bool is_optimiser_state(const Tensor& t) { return t.name.find(':') != std::string::npos; }

}  // namespace

int64_t macs_of(const Graph& graph, const Node& node) {
  const OpRule& rule = rule_of(node.op);
  return node.phase == Phase::forward && rule.macs != nullptr ? rule.macs(graph, node) : 0;
}

Cost cost_of(const Graph& graph) {
  Cost c;
  for (const Tensor& t : graph.tensors) {
    if (t.alias_of >= 0) continue;
    if (t.role == Role::param || t.role == Role::frozen) c.parameters += t.elements();
    if (t.role == Role::param) c.trainable += t.elements();
    if (t.role == Role::state && !is_optimiser_state(t)) c.buffers += t.elements();
  }
  for (const Node& n : graph.nodes) c.macs += macs_of(graph, n);
  return c;
}

}  // namespace convoy::ir
