#include "ir/autodiff.hpp"

#include "error.hpp"
#include "ir/op_rule.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::ir {

namespace {

class Differentiation {
 public:
  Differentiation(Graph& graph, Value loss, Value scale) : graph_(graph) {
    mark_needed();
    parts_.resize(graph.tensors.size());
    parts_[loss].push_back(scale);
  }

  Gradients run() {
    for (auto node = static_cast<int64_t>(graph_.nodes.size()) - 1; node >= 0; --node)
      back_through(static_cast<uint32_t>(node));
    return collect();
  }

 private:
  /// Values that depend on a parameter.
  void mark_needed() {
    needed_.assign(graph_.tensors.size(), false);
    for (Value v = 0; v < graph_.tensors.size(); ++v) needed_[v] = graph_[v].role == Role::param;
    for (const Node& n : graph_.nodes)
      if (std::any_of(n.in.begin(), n.in.end(), [&](Value v) { return v != kNoValue && needed_[v]; }))
        for (Value v : n.out)
          if (v != kNoValue) needed_[v] = true;
  }

  bool is_needed(Value v) const { return v != kNoValue && v < needed_.size() && needed_[v]; }

  /// The sum of all that flows back into `v`, kNoValue where nothing does.
  Value total(Value v, const std::string& name) {
    auto& parts = parts_[v];
    if (parts.empty()) return kNoValue;
    if (parts.size() > 1)
      parts = {append_node(graph_, Op::add_n, parts, {}, name + ".sum", Phase::backward)[0]};
    return parts[0];
  }

  void back_through(uint32_t index) {
    const Node node = graph_.nodes[index];  // a copy: the table grows
    std::vector<bool> needed;
    for (Value v : node.in) needed.push_back(is_needed(v));
    if (std::none_of(needed.begin(), needed.end(), [](bool b) { return b; })) return;
    std::vector<Value> dy;
    for (Value v : node.out) dy.push_back(v == kNoValue ? kNoValue : total(v, node.name));
    if (std::all_of(dy.begin(), dy.end(), [](Value v) { return v == kNoValue; })) return;
    if (dy[0] == kNoValue || rule_of(node.op).gradient == nullptr)
      throw Error(ErrorKind::usage, fmt::format("the loss depends on a parameter through {} '{}', which has no gradient there",
                                                rule_of(node.op).name, node.name));
    Backward b(graph_, index, dy, needed);
    rule_of(node.op).gradient(b);
    for (std::size_t i = 0; i < node.in.size(); ++i)
      if (needed[i] && b.gradients[i] != kNoValue) parts_[node.in[i]].push_back(b.gradients[i]);
  }

  Gradients collect() {
    Gradients out;
    const std::size_t n = needed_.size();
    for (Value v = 0; v < n; ++v) {
      if (graph_[v].role != Role::param) continue;
      Value grad = total(v, "grad:" + graph_[v].name);
      if (grad == kNoValue) continue;
      if (graph_[grad].role != Role::activation)  // shared with another parameter, or an input: needs its own memory
        grad = append_node(graph_, Op::add_n, {grad}, {}, "grad:" + graph_[v].name, Phase::backward)[0];
      graph_[grad].role = Role::grad;
      graph_[grad].name = "grad:" + graph_[v].name;
      out.pairs.emplace_back(v, grad);
    }
    return out;
  }

  Graph& graph_;
  std::vector<bool> needed_;                // by forward value
  std::vector<std::vector<Value>> parts_;   // what flows back, by forward value
};

}  // namespace

Gradients differentiate(Graph& graph, Value loss, Value scale) { return Differentiation(graph, loss, scale).run(); }

}  // namespace convoy::ir
