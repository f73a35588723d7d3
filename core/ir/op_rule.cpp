#include "ir/op_rule.hpp"

#include "error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

namespace convoy::ir {

std::string shape_text(const std::vector<int64_t>& dims) { return fmt::format("({})", fmt::join(dims, ",")); }

void Inference::refuse(const std::string& why) const {
  std::string shapes;
  for (Value v : node_.in) shapes += v == kNoValue ? " -" : " " + shape_text(graph_[v].dims);
  throw Error(ErrorKind::usage, fmt::format("{} '{}' of{}: {}", rule_of(node_.op).name, node_.name,
                                            shapes.empty() ? " nothing" : shapes, why));
}

void Inference::need_rank(std::size_t i, std::size_t rank) const {
  if (in(i).dims.size() != rank)
    refuse(fmt::format("input {} has {} dimensions, {} are expected", i, in(i).dims.size(), rank));
}

void Inference::need_type(std::size_t i, DType t) const {
  if (in(i).dtype != t) refuse(fmt::format("input {} is {}, {} is expected", i, name_of(in(i).dtype), name_of(t)));
}

void Inference::need_same_shape(std::size_t i, std::size_t j) const {
  if (in(i).dims != in(j).dims)
    refuse(fmt::format("inputs {} and {} have shapes {} and {}; equal ones are expected", i, j,
                       shape_text(in(i).dims), shape_text(in(j).dims)));
}

void Inference::need_channel_vector(std::size_t vector, int64_t channels) const {
  if (in(vector).dims != std::vector<int64_t>{channels})
    refuse(fmt::format("input {} has shape {}; ({}) is expected, one value a channel", vector,
                       shape_text(in(vector).dims), channels));
}

void Inference::need_positive(const char* what, int64_t value) const {
  if (value < 1) refuse(fmt::format("{} is {}; at least 1 is expected", what, value));
}

Backward::Backward(Graph& graph, uint32_t node, std::vector<Value> dy, std::vector<bool> needed)
    : gradients(graph.nodes[node].in.size(), kNoValue),
      graph_(graph),
      node_(graph.nodes[node]),
      dy_(std::move(dy)),
      needed_(std::move(needed)) {}

std::vector<Value> Backward::emit(Op op, std::vector<Value> in, std::vector<std::byte> attrs, const char* what) {
  return append_node(graph_, op, std::move(in), std::move(attrs), node_.name + "." + what, Phase::backward,
                     node_.scope);
}

const OpRule* find_rule(Op op) {
  for (const OpRule& r : all_rules())
    if (r.op == op) return &r;
  return nullptr;
}

const OpRule& rule_of(Op op) {
  const OpRule* r = find_rule(op);
  if (r == nullptr) throw Error(ErrorKind::bug, fmt::format("no operator has the id {}", static_cast<uint32_t>(op)));
  return *r;
}

namespace {

void check_arity(const Inference& inference, const OpRule& rule) {
  const std::size_t n = inference.inputs();
  if (n < rule.min_inputs || n > rule.max_inputs)
    inference.refuse(rule.min_inputs == rule.max_inputs
                         ? fmt::format("{} inputs given, {} are expected", n, rule.min_inputs)
                         : fmt::format("{} inputs given, at least {} are expected", n, rule.min_inputs));
}

void check_values(const Graph& graph, const Node& node, const OpRule& rule) {
  for (std::size_t i = 0; i < node.in.size(); ++i)
    if (node.in[i] != kNoValue && node.in[i] >= graph.tensors.size())
      throw Error(ErrorKind::usage,
                  fmt::format("{} '{}': input {} is value {}, which does not exist", rule.name, node.name, i, node.in[i]));
  if (rule.attrs_size > 0 && node.attrs.empty())
    throw Error(ErrorKind::usage, fmt::format("{} '{}' needs attributes", rule.name, node.name));
}

/// Refuses shapes whose size in bytes would not fit: everything later multiplies without looking.
void check_size(const Inference& inference, const Output& out) {
  constexpr int64_t kMostElements = std::numeric_limits<int64_t>::max() / 64;
  int64_t n = 1;
  for (int64_t d : out.dims) {
    if (d < 1) inference.refuse(fmt::format("the output would be {}", shape_text(out.dims)));
    if (n > kMostElements / d) inference.refuse(fmt::format("the output {} is too large", shape_text(out.dims)));
    n *= d;
  }
}

Value add_output(Graph& graph, const Node& node, const Output& out, std::size_t index) {
  if (out.absent) return kNoValue;
  Tensor t;
  t.dtype = out.dtype;
  t.dims = out.dims;
  t.name = index == 0 ? node.name : fmt::format("{}#{}", node.name, index);
  if (out.alias_input >= 0) {
    const Value target = node.in[static_cast<std::size_t>(out.alias_input)];
    const Tensor& old = graph[target];
    if (is_boundary(old.role)) {
      t.alias_of = old.alias_of >= 0 ? old.alias_of : static_cast<int32_t>(target);
      t.role = old.role;
      t.name = old.name;
    }
  }
  return graph.add(std::move(t));
}

}  // namespace

std::vector<Value> append_node(Graph& graph, Op op, std::vector<Value> in, std::vector<std::byte> attrs,
                               std::string name, Phase phase, uint32_t scope) {
  const OpRule& rule = rule_of(op);
  Node node{op, std::move(name), std::move(in), {}, std::move(attrs), phase, scope};
  check_values(graph, node, rule);
  Inference inference(graph, node);
  check_arity(inference, rule);
  rule.infer(inference);
  for (const Output& out : inference.outputs)
    if (!out.absent) check_size(inference, out);
  for (std::size_t i = 0; i < inference.outputs.size(); ++i)
    node.out.push_back(add_output(graph, node, inference.outputs[i], i));
  graph.nodes.push_back(node);
  return node.out;
}

}  // namespace convoy::ir
