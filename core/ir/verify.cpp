#include "ir/verify.hpp"

#include "error.hpp"
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace convoy::ir {

namespace {

[[noreturn]] void broken(const std::string& how) { throw Error(ErrorKind::bug, "graph: " + how); }

[[noreturn]] void broken(const Node& n, const std::string& how) { broken(fmt::format("node '{}' {}", n.name, how)); }

bool is_produced(const Tensor& t) { return t.role == Role::output || t.role == Role::grad; }

/// Values, one after the other: definition, use, in-place updates.
class ValueFlow {
 public:
  explicit ValueFlow(const Graph& g) : graph_(g), defined_(g.tensors.size(), false), stale_(g.tensors.size(), false) {
    for (Value v = 0; v < g.tensors.size(); ++v)
      if (is_boundary(g[v].role) && g[v].alias_of < 0) defined_[v] = !is_produced(g[v]);
  }

  void read(const Node& n) const {
    for (Value v : n.in) {
      if (v == kNoValue) continue;
      if (!defined_[v]) broken(n, fmt::format("reads value {} before it is written", v));
      if (stale_[v]) broken(n, fmt::format("reads '{}' after it was updated in place", graph_[v].name));
    }
  }

  void write(const Node& n) {
    for (Value v : n.out) {
      if (v == kNoValue) continue;
      if (defined_[v]) broken(n, fmt::format("writes value {} a second time", v));
      defined_[v] = true;
      if (graph_[v].alias_of >= 0) replace(static_cast<Value>(graph_[v].alias_of), v);
    }
  }

  void check_all_written() const {
    for (Value v = 0; v < graph_.tensors.size(); ++v)
      if (is_produced(graph_[v]) && !defined_[v]) broken(fmt::format("nothing writes '{}'", graph_[v].name));
  }

 private:
  void replace(Value root, Value now) {
    for (Value v = 0; v < graph_.tensors.size(); ++v)
      if (v != now && defined_[v] && (v == root || graph_[v].alias_of == static_cast<int32_t>(root))) stale_[v] = true;
  }

  const Graph& graph_;
  std::vector<bool> defined_;
  std::vector<bool> stale_;  // values whose memory already holds newer content
};

/// Buckets: where gradients lie in them, and the markers' places.
class BucketOrder {
 public:
  explicit BucketOrder(const Graph& g) : graph_(g) {
    for (Value v = 0; v < g.tensors.size(); ++v)
      if (g[v].bucket >= 0) members_[g[v].bucket].push_back(v);
  }

  void check_places() const {
    for (auto [bucket, grads] : members_) {
      std::sort(grads.begin(), grads.end(), [&](Value a, Value b) { return graph_[a].bucket_offset < graph_[b].bucket_offset; });
      uint64_t end = 0;
      for (Value v : grads) {
        if (graph_[v].role != Role::grad) broken(fmt::format("'{}' is in bucket {} and no gradient", graph_[v].name, bucket));
        if (graph_[v].bucket_offset < end) broken(fmt::format("'{}' overlaps another gradient in bucket {}", graph_[v].name, bucket));
        end = graph_[v].bucket_offset + bytes_of(graph_[v]);
      }
    }
  }

  void pass(const Node& n) {
    if (n.phase == Phase::marker) return mark(n);
    for (Value v : n.in) {
      if (v == kNoValue || graph_[v].role != Role::grad) continue;
      if (n.phase != Phase::update)
        broken(n, fmt::format("reads '{}', which a strategy may already be reducing", graph_[v].name));
      if (const int32_t b = graph_[v].bucket; b >= 0 && needed_.count(b) == 0)
        broken(n, fmt::format("reads '{}' before params_needed of bucket {}", graph_[v].name, b));
    }
  }

  void check_all_marked() const {
    for (const auto& [bucket, grads] : members_)
      if (ready_.count(bucket) == 0 || needed_.count(bucket) == 0) broken(fmt::format("bucket {} lacks a marker", bucket));
  }

 private:
  void mark(const Node& n) {
    const auto bucket = static_cast<int32_t>(unpack<MarkerAttrs>(n).bucket);
    const auto members = members_.find(bucket);
    if (members == members_.end()) broken(n, fmt::format("is a marker of bucket {}, which has no gradients", bucket));
    if (n.op == Op::params_needed && ready_.count(bucket) == 0) broken(n, "stands before the grads_ready of its bucket");
    if (n.op == Op::grads_ready && std::set<Value>(n.in.begin(), n.in.end()) !=
                                       std::set<Value>(members->second.begin(), members->second.end()))
      broken(n, "does not list exactly the gradients of its bucket");
    if (!(n.op == Op::grads_ready ? ready_ : needed_).insert(bucket).second) broken(n, "stands twice for its bucket");
  }

  const Graph& graph_;
  std::map<int32_t, std::vector<Value>> members_;
  std::set<int32_t> ready_, needed_;
};

void check_tensors(const Graph& g) {
  std::set<std::string> names;
  for (const Tensor& t : g.tensors) {
    if (size_of(t.dtype) == 0) broken(fmt::format("'{}' has no type", t.name));
    if (t.alias_of >= 0) {
      if (static_cast<std::size_t>(t.alias_of) >= g.tensors.size()) broken(fmt::format("'{}' updates a value that does not exist", t.name));
      const Tensor& root = g.tensors[static_cast<std::size_t>(t.alias_of)];
      if (!is_boundary(root.role) || root.alias_of >= 0 || root.role != t.role || root.dims != t.dims || root.dtype != t.dtype)
        broken(fmt::format("'{}' updates '{}', which is no such boundary value", t.name, root.name));
    } else if (is_boundary(t.role) && (t.name.empty() || !names.insert(t.name).second)) {
      broken(fmt::format("two boundary values are called '{}', or one has no name", t.name));
    }
  }
}

void check_place(const Graph& g, const Node& n) {
  if (n.scope >= g.scopes.size()) broken(n, fmt::format("is in scope {}, which does not exist", n.scope));
  const Phase earliest = rule_of(n.op).earliest;
  if (n.phase < earliest || (n.phase == Phase::marker) != (earliest == Phase::marker))
    broken(n, fmt::format("is a {} in a phase where none may be", rule_of(n.op).name));
  for (Value v : n.out)
    if (v != kNoValue && v >= g.tensors.size()) broken(n, fmt::format("writes value {}, which does not exist", v));
}

int32_t alias_root(const Graph& g, const Node& n, const Output& out) {
  if (out.alias_input < 0) return -1;
  const Value old = n.in[static_cast<std::size_t>(out.alias_input)];
  return g[old].alias_of >= 0 ? g[old].alias_of : static_cast<int32_t>(old);
}

void check_output(const Graph& g, const Node& n, Value v, const Output& want) {
  if ((v == kNoValue) != want.absent) broken(n, "has an output that its operator does not give, or lacks one");
  if (want.absent) return;
  const Tensor& t = g[v];
  if (t.dims != want.dims || t.dtype != want.dtype)
    broken(n, fmt::format("gives {} {}, its value is {} {}", name_of(want.dtype), shape_text(want.dims), name_of(t.dtype),
                          shape_text(t.dims)));
  if (t.alias_of != alias_root(g, n, want)) broken(n, fmt::format("does not write '{}' where its operator does", t.name));
}

void check_rule(const Graph& g, const Node& n) {
  Node copy = n;
  std::vector<Output> want;
  try {
    want = infer_outputs(g, copy);
  } catch (const Error& e) {
    broken(e.what());
  }
  if (copy.attrs != n.attrs) broken(n, "has incomplete attributes");
  if (want.size() != n.out.size()) broken(n, fmt::format("has {} outputs, {} are expected", n.out.size(), want.size()));
  for (std::size_t i = 0; i < want.size(); ++i) check_output(g, n, n.out[i], want[i]);
}

}  // namespace

void verify(const Graph& graph) {
  check_tensors(graph);
  ValueFlow flow(graph);
  BucketOrder buckets(graph);
  buckets.check_places();
  for (const Node& n : graph.nodes) {
    check_place(graph, n);
    check_rule(graph, n);
    flow.read(n);
    flow.write(n);
    buckets.pass(n);
  }
  flow.check_all_written();
  buckets.check_all_marked();
}

}  // namespace convoy::ir
