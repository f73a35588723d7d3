#include "ir/passes.hpp"

#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

namespace convoy::ir {

namespace {

bool writes_boundary(const Graph& g, const Node& n) {
  return std::any_of(n.out.begin(), n.out.end(), [&](Value v) { return v != kNoValue && is_boundary(g[v].role); });
}

/// Values to read instead of others.
class Substitution {
 public:
  void add(Value old, Value now) {
    if (old != kNoValue) now_[old] = now;
  }
  void apply(Node& n) const {
    for (Value& v : n.in)
      if (const auto found = now_.find(v); found != now_.end()) v = found->second;
  }

 private:
  std::map<Value, Value> now_;
};

/// A parameter or state is overwritten later in the step, so its readers may not be moved to later nodes.
bool is_overwritten(Role r) { return r == Role::param || r == Role::state; }

bool is_identity(const Graph& g, const Node& n) {
  const OpRule& rule = rule_of(n.op);
  return rule.identity != nullptr && !is_overwritten(g[n.in[0]].role) && rule.identity(g, n);
}

/// Values whose elements are all the same, and what they are.
using Constants = std::map<Value, double>;

std::optional<double> constant_result(const Graph& g, const Node& n, const Constants& constants) {
  const OpRule& rule = rule_of(n.op);
  if (rule.constant == nullptr || g[n.out[0]].dtype != DType::f32) return {};
  std::vector<double> in;
  for (Value v : n.in) {
    const auto found = constants.find(v);
    if (found == constants.end() || g[v].dtype != DType::f32) return {};
    in.push_back(found->second);
  }
  return rule.constant(in);
}

/// `n` as a fill of its output.
Node filled(const Graph& g, const Node& n, double value) {
  const Tensor& t = g[n.out[0]];
  FillAttrs a{};
  a.struct_size = sizeof a;
  a.dtype = t.dtype;
  a.rank = static_cast<uint32_t>(t.dims.size());
  std::copy(t.dims.begin(), t.dims.end(), a.dim);
  a.value = value;
  return {Op::fill, n.name, {}, n.out, pack(a), n.phase, n.scope};
}

}  // namespace

void eliminate_dead(Graph& graph) {
  std::vector<bool> read(graph.tensors.size(), false);
  std::vector<Node> kept;
  for (auto n = graph.nodes.rbegin(); n != graph.nodes.rend(); ++n) {
    const bool used = std::any_of(n->out.begin(), n->out.end(), [&](Value v) { return v != kNoValue && read[v]; });
    if (!used && !writes_boundary(graph, *n) && n->phase != Phase::marker) continue;
    for (Value v : n->in)
      if (v != kNoValue) read[v] = true;
    kept.push_back(std::move(*n));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
}

void merge_common(Graph& graph) {
  using Key = std::tuple<Op, std::vector<Value>, std::vector<std::byte>>;
  std::map<Key, std::vector<Value>> first;
  Substitution instead;
  std::vector<Node> kept;
  for (Node& n : graph.nodes) {
    instead.apply(n);
    if (!writes_boundary(graph, n) && n.phase != Phase::marker && !rule_of(n.op).random) {
      const auto [entry, is_new] = first.try_emplace({n.op, n.in, n.attrs}, n.out);
      if (!is_new) {
        for (std::size_t i = 0; i < n.out.size(); ++i) instead.add(n.out[i], entry->second[i]);
        continue;
      }
    }
    kept.push_back(std::move(n));
  }
  graph.nodes = std::move(kept);
}

void fold_constants(Graph& graph) {
  Constants constants;
  Substitution instead;
  std::vector<Node> kept;
  for (Node& n : graph.nodes) {
    instead.apply(n);
    if (n.phase != Phase::marker && !writes_boundary(graph, n)) {
      if (is_identity(graph, n)) {
        instead.add(n.out[0], n.in[0]);
        continue;
      }
      if (const auto value = constant_result(graph, n, constants)) n = filled(graph, n, *value);
    }
    // Only what f32 holds exactly, so that folding cannot change a result.
    if (n.op == Op::fill)
      if (const double value = unpack<FillAttrs>(n).value; static_cast<double>(static_cast<float>(value)) == value)
        constants[n.out[0]] = value;
    kept.push_back(std::move(n));
  }
  graph.nodes = std::move(kept);
}

}  // namespace convoy::ir
