#include "ir/cost.hpp"

#include "ir/op_rule.hpp"

namespace convoy::ir {

Cost cost_of(const Graph& graph) {
  Cost c;
  for (const Tensor& t : graph.tensors) {
    if (t.alias_of >= 0) continue;
    if (t.role == Role::param || t.role == Role::frozen) c.parameters += t.elements();
    if (t.role == Role::param) c.trainable += t.elements();
    if (t.role == Role::state && t.name.find(':') == std::string::npos) c.buffers += t.elements();
  }
  for (const Node& n : graph.nodes)
    if (n.phase == Phase::forward)
      if (const OpRule& r = rule_of(n.op); r.macs != nullptr) c.macs += r.macs(graph, n);
  return c;
}

}  // namespace convoy::ir
