#include "ir/layer_table.hpp"

#include "ir/cost.hpp"
#include "ir/op_rule.hpp"

#include <set>

namespace convoy::ir {

namespace {

bool is_weight(const Tensor& t) { return t.role == Role::param || t.role == Role::frozen; }

Layer make_layer(const Graph& graph, const Node& node, std::set<Value>& seen) {
  Layer l;
  l.name = node.name;
  l.op = rule_of(node.op).name;
  l.output = graph[node.out[0]].dims;
  l.activation_bytes = static_cast<int64_t>(bytes_of(graph[node.out[0]]));
  l.macs = macs_of(graph, node);
  for (const Value v : node.in) {
    if (v == kNoValue) continue;
    const Tensor& t = graph[v];
    const auto bytes = static_cast<int64_t>(bytes_of(t));
    if (!is_weight(t)) l.input_bytes += bytes;
    if (!is_weight(t) || !seen.insert(v).second) continue;
    l.parameters += t.elements();
    l.parameter_bytes += bytes;
    if (t.role == Role::param) l.gradient_bytes += bytes;
  }
  return l;
}

}  // namespace

std::vector<Layer> layer_table(const Graph& graph) {
  std::vector<Layer> out;
  std::set<Value> seen;
  for (const Node& n : graph.nodes)
    if (n.phase == Phase::forward && !n.out.empty() && n.out[0] != kNoValue) out.push_back(make_layer(graph, n, seen));
  return out;
}

}  // namespace convoy::ir
