#include "ir/autodiff.hpp"

#include "error.hpp"
#include "ir/op_rule.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::ir {

namespace {

bool any(const std::vector<bool>& flags) { return std::find(flags.begin(), flags.end(), true) != flags.end(); }

/// Reverse accumulation. `parts` of a value are the gradients that flow back into it, one from each use; walking
/// the nodes backwards, all of them are there when the node that made the value is reached.
class Differentiation {
 public:
  Differentiation(Graph& graph, Value loss, Value scale) : graph_(graph), forward_values_(graph.tensors.size()) {
    check_scalar(loss, "loss");
    check_scalar(scale, "scale");
    mark_needed();
    parts_.resize(forward_values_);
    if (needed_[loss]) parts_[loss].push_back(scale);
  }

  Gradients run() {
    for (std::size_t node = graph_.nodes.size(); node-- > 0;) back_through(static_cast<uint32_t>(node));
    return collect();
  }

 private:
  void check_scalar(Value v, const char* what) const {
    if (v >= graph_.tensors.size() || !graph_[v].dims.empty() || graph_[v].dtype != DType::f32)
      throw Error(ErrorKind::usage, fmt::format("the {} must be an f32 scalar", what));
  }

  /// Values that depend on a parameter.
  void mark_needed() {
    needed_.assign(forward_values_, false);
    for (Value v = 0; v < forward_values_; ++v) needed_[v] = graph_[v].role == Role::param;
    for (const Node& n : graph_.nodes)
      if (any(needed_inputs(n)))
        for (Value v : n.out)
          if (v != kNoValue) needed_[v] = true;
  }

  std::vector<bool> needed_inputs(const Node& n) const {
    std::vector<bool> out;
    for (Value v : n.in) out.push_back(v != kNoValue && needed_[v]);
    return out;
  }

  bool has_gradient(Value v) const { return v != kNoValue && !parts_[v].empty(); }

  /// The sum of all that flows back into `v`.
  Value total(Value v, const std::string& name, uint32_t scope) {
    auto& parts = parts_[v];
    if (parts.size() > 1) parts = {append_node(graph_, Op::add_n, parts, {}, name, Phase::backward, scope)[0]};
    return parts[0];
  }

  void back_through(uint32_t index) {
    const Node node = graph_.nodes[index];  // a copy: the table grows
    const std::vector<bool> needed = needed_inputs(node);
    if (!any(needed) || std::none_of(node.out.begin(), node.out.end(), [&](Value v) { return has_gradient(v); })) return;
    check_differentiable(node);
    Backward b(graph_, index, total(node.out[0], node.name + ".sum", node.scope), needed);
    rule_of(node.op).gradient(b);
    for (std::size_t i = 0; i < node.in.size(); ++i)
      if (needed[i] && b.gradients[i] != kNoValue) parts_[node.in[i]].push_back(b.gradients[i]);
  }

  void check_differentiable(const Node& node) const {
    const OpRule& rule = rule_of(node.op);
    if (rule.gradient == nullptr)
      throw Error(ErrorKind::usage, fmt::format("the loss depends on a parameter through {} '{}', which has no gradient",
                                                rule.name, node.name));
    for (std::size_t i = 1; i < node.out.size(); ++i)
      if (has_gradient(node.out[i]))
        throw Error(ErrorKind::usage, fmt::format("the loss depends on a parameter through output {} of {} '{}'; only "
                                                  "output 0 has a gradient", i, rule.name, node.name));
  }

  Gradients collect() {
    std::vector<std::pair<Value, Value>> totals;
    for (Value v = 0; v < forward_values_; ++v)
      if (graph_[v].role == Role::param && has_gradient(v)) totals.emplace_back(v, total(v, "grad:" + graph_[v].name, 0));
    const std::vector<int> uses = count_uses(totals);
    Gradients out;
    for (auto [param, grad] : totals) {
      const std::string name = "grad:" + graph_[param].name;
      const bool is_private = graph_[grad].role == Role::activation && grad >= forward_values_ && uses[grad] == 1;
      if (!is_private) grad = append_node(graph_, Op::add_n, {grad}, {}, name, Phase::backward)[0];
      graph_[grad].role = Role::grad;
      graph_[grad].name = name;
      out.pairs.emplace_back(param, grad);
    }
    return out;
  }

  /// By value: nodes that read it, and parameters whose gradient it is. A gradient that is also an input, another
  /// parameter's, or read by a later backward node has to be copied, since a strategy reduces gradients in place
  /// while backward goes on.
  std::vector<int> count_uses(const std::vector<std::pair<Value, Value>>& totals) const {
    std::vector<int> uses(graph_.tensors.size(), 0);
    for (const Node& n : graph_.nodes)
      for (Value v : n.in)
        if (v != kNoValue) ++uses[v];
    for (const auto& [param, grad] : totals) ++uses[grad];
    return uses;
  }

  Graph& graph_;
  const std::size_t forward_values_;
  std::vector<bool> needed_;               // by forward value
  std::vector<std::vector<Value>> parts_;  // by forward value
};

}  // namespace

Gradients differentiate(Graph& graph, Value loss, Value scale) { return Differentiation(graph, loss, scale).run(); }

}  // namespace convoy::ir
