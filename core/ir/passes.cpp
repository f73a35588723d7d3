#include "ir/passes.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace convoy::ir {

namespace {

bool writes_boundary(const Graph& g, const Node& n) {
  return std::any_of(n.out.begin(), n.out.end(), [&](Value v) { return v != kNoValue && is_boundary(g[v].role); });
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
  std::map<Value, Value> instead;
  std::vector<Node> kept;
  for (Node& n : graph.nodes) {
    for (Value& v : n.in)
      if (const auto found = instead.find(v); found != instead.end()) v = found->second;
    if (!writes_boundary(graph, n) && n.phase != Phase::marker) {
      const auto [entry, is_new] = first.try_emplace({n.op, n.in, n.attrs}, n.out);
      if (!is_new) {
        for (std::size_t i = 0; i < n.out.size(); ++i) instead[n.out[i]] = entry->second[i];
        continue;
      }
    }
    kept.push_back(std::move(n));
  }
  graph.nodes = std::move(kept);
}

}  // namespace convoy::ir
