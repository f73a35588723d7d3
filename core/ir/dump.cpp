#include "ir/dump.hpp"

#include "ir/op_rule.hpp"

#include <fmt/format.h>

namespace convoy::ir {

namespace {

const char* phase_name(Phase p) {
  switch (p) {
    case Phase::forward: return "forward";
    case Phase::backward: return "backward";
    case Phase::update: return "update";
    case Phase::marker: return "marker";
  }
  return "?";
}

std::string value_text(const Graph& g, Value v) {
  if (v == kNoValue) return "-";
  const Tensor& t = g[v];
  return fmt::format("%{}{} {}{}", v, is_boundary(t.role) ? ":" + t.name : "", shape_text(t.dims),
                     t.bucket < 0 ? "" : fmt::format(" @{}+{}", t.bucket, t.bucket_offset));
}

std::string list(const Graph& g, const std::vector<Value>& values) {
  std::string out;
  for (Value v : values) out += (out.empty() ? "" : ", ") + value_text(g, v);
  return out;
}

}  // namespace

std::string dump(const Graph& graph) {
  std::string out;
  for (const Node& n : graph.nodes)
    out += fmt::format("{:8}  {} = {}({}){}{}\n", phase_name(n.phase), n.name, rule_of(n.op).name, list(graph, n.in),
                       n.out.empty() ? "" : " -> ", list(graph, n.out));
  return out;
}

}  // namespace convoy::ir
