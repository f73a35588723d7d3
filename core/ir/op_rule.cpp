#include "ir/op_rule.hpp"

#include "error.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace convoy::ir {

std::string shape_text(const std::vector<int64_t>& dims) { return fmt::format("({})", fmt::join(dims, ",")); }

int64_t saturating_product(std::span<const int64_t> factors) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  if (std::find(factors.begin(), factors.end(), 0) != factors.end()) return 0;
  int64_t product = 1;
  for (int64_t f : factors) {
    if (product > kMost / f) return kMost;
    product *= f;
  }
  return product;
}

void Inference::refuse(const std::string& why) const {
  std::string shapes;
  for (Value v : node_.in) shapes += v == kNoValue ? " -" : " " + shape_text(graph_[v].dims);
  throw Error(ErrorKind::usage, fmt::format("{} '{}' of{}: {}", rule_of(node_.op).name, node_.name,
                                            shapes.empty() ? " nothing" : shapes, why));
}

void Inference::give_in_place(std::size_t i, Role role) {
  if (in(i).role != role)
    refuse(fmt::format("input {} is updated in place, so it must be a {}", i, role == Role::param ? "parameter" : "state"));
  outputs.push_back({in(i).dtype, in(i).dims, static_cast<int>(i), false});
}

void Inference::need_rank(std::size_t i, std::size_t rank) const {
  if (in(i).dims.size() != rank)
    refuse(fmt::format("input {} has {} dimensions, {} are expected", i, in(i).dims.size(), rank));
}

void Inference::need_type(std::size_t i, DType t) const {
  if (in(i).dtype != t) refuse(fmt::format("input {} is {}, {} is expected", i, name_of(in(i).dtype), name_of(t)));
}

void Inference::need_float(std::size_t i) const {
  const DType t = in(i).dtype;
  if (t != DType::f32 && t != DType::f16 && t != DType::bf16)
    refuse(fmt::format("input {} is {}; f32, f16 or bf16 is expected", i, name_of(t)));
}

void Inference::need_same_type(std::size_t i, std::size_t j) const {
  if (in(i).dtype != in(j).dtype)
    refuse(fmt::format("inputs {} and {} are {} and {}; equal types are expected", i, j, name_of(in(i).dtype),
                       name_of(in(j).dtype)));
}

void Inference::need_alike(std::size_t i, std::size_t j) const {
  need_same_type(i, j);
  if (in(i).dims != in(j).dims)
    refuse(fmt::format("inputs {} and {} have shapes {} and {}; equal ones are expected", i, j,
                       shape_text(in(i).dims), shape_text(in(j).dims)));
}

void Inference::need_channel_vector(std::size_t vector, int64_t channels) const {
  need_type(vector, DType::f32);
  if (in(vector).dims != std::vector<int64_t>{channels})
    refuse(fmt::format("input {} has shape {}; ({}) is expected, one value a channel", vector,
                       shape_text(in(vector).dims), channels));
}

void Inference::need_f32_scalar(std::size_t i) const {
  need_rank(i, 0);
  need_type(i, DType::f32);
}

void Inference::need_positive(const char* what, int64_t value) const {
  if (value < 1) refuse(fmt::format("{} is {}; at least 1 is expected", what, value));
}

Backward::Backward(Graph& graph, uint32_t node, Value dy, std::vector<bool> needed)
    : gradients(graph.nodes[node].in.size(), kNoValue),
      graph_(graph),
      node_(graph.nodes[node]),
      dy_(dy),
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
  if (r == nullptr) throw Error(ErrorKind::bug, fmt::format("no operator has the number {}", static_cast<uint32_t>(op)));
  return *r;
}

namespace {

void check_values(const Graph& graph, const Node& node, const OpRule& rule) {
  for (std::size_t i = 0; i < node.in.size(); ++i) {
    const Value v = node.in[i];
    const bool optional = i < 32 && ((rule.optional_inputs >> i) & 1) != 0;
    if (v == kNoValue && !optional)
      throw Error(ErrorKind::usage, fmt::format("{} '{}': input {} is absent", rule.name, node.name, i));
    if (v != kNoValue && v >= graph.tensors.size())
      throw Error(ErrorKind::usage,
                  fmt::format("{} '{}': input {} is value {}, which does not exist", rule.name, node.name, i, v));
  }
}

void check_arity(const Inference& inference, const OpRule& rule) {
  const std::size_t n = inference.inputs();
  if (n >= rule.min_inputs && n <= rule.max_inputs) return;
  const bool exact = rule.min_inputs == rule.max_inputs;
  inference.refuse(fmt::format("{} inputs given, {}{} are expected", n, exact ? "" : "at least ", rule.min_inputs));
}

/// Brings attributes to the size that this host knows. A longer struct comes from a newer author: it is taken
/// only if what is unknown here is zero, its default.
void check_attrs(const Inference& inference, Node& node, const OpRule& rule) {
  auto& bytes = node.attrs;
  if (rule.attrs_size == 0) {
    if (!bytes.empty()) inference.refuse(fmt::format("{} bytes of attributes given, none are expected", bytes.size()));
    return;
  }
  if (bytes.empty() && rule.attrs_optional) return;
  uint32_t says = 0;
  if (bytes.size() >= sizeof says) std::memcpy(&says, bytes.data(), sizeof says);
  if (says != bytes.size() || bytes.empty())
    inference.refuse(fmt::format("its attributes begin with struct_size {} and have {} bytes; sizeof the struct is "
                                 "expected of both, {} here", says, bytes.size(), rule.attrs_size));
  for (std::size_t i = rule.attrs_size; i < bytes.size(); ++i)
    if (bytes[i] != std::byte{})
      inference.refuse(fmt::format("it sets an attribute behind the {} bytes that this host knows", rule.attrs_size));
  bytes.resize(rule.attrs_size);
  const auto known = static_cast<uint32_t>(rule.attrs_size);
  std::memcpy(bytes.data(), &known, sizeof known);
}

/// Refuses shapes whose size in bytes would not fit: everything later multiplies without looking.
void check_size(const Inference& inference, const Output& out) {
  constexpr int64_t kMostElements = std::numeric_limits<int64_t>::max() / 64;
  if (out.dims.size() > 6) inference.refuse(fmt::format("the output has {} dimensions; at most 6 are allowed", out.dims.size()));
  for (int64_t d : out.dims)
    if (d < 1) inference.refuse(fmt::format("the output would be {}", shape_text(out.dims)));
  if (saturating_product(out.dims) > kMostElements)
    inference.refuse(fmt::format("the output {} is too large", shape_text(out.dims)));
}

Value root_of(const Graph& graph, Value v) { return graph[v].alias_of >= 0 ? static_cast<Value>(graph[v].alias_of) : v; }

/// Refuses a value whose memory already holds newer content: which of the two is read would depend on the order.
void check_current(const Graph& graph, const Node& node, const OpRule& rule) {
  for (Value v : node.in) {
    if (v == kNoValue || !is_boundary(graph[v].role)) continue;
    for (Value later = v + 1; later < graph.tensors.size(); ++later)
      if (graph[later].alias_of == static_cast<int32_t>(root_of(graph, v)))
        throw Error(ErrorKind::usage, fmt::format("{} '{}' reads '{}' after it was updated in place; take the updated value",
                                                  rule.name, node.name, graph[v].name));
  }
}

Value add_output(Graph& graph, const Node& node, const Output& out, std::size_t index) {
  if (out.absent) return kNoValue;
  Tensor t;
  t.dtype = out.dtype;
  t.dims = out.dims;
  t.name = index == 0 ? node.name : fmt::format("{}#{}", node.name, index);
  if (out.alias_input >= 0) {
    const Value old = node.in[static_cast<std::size_t>(out.alias_input)];
    t.alias_of = static_cast<int32_t>(root_of(graph, old));
    t.role = graph[old].role;
    t.name = graph[old].name;
  }
  return graph.add(std::move(t));
}

}  // namespace

std::vector<Output> infer_outputs(const Graph& graph, Node& node) {
  const OpRule& rule = rule_of(node.op);
  check_values(graph, node, rule);
  Inference inference(graph, node);
  check_arity(inference, rule);
  check_attrs(inference, node, rule);
  rule.infer(inference);
  for (const Output& out : inference.outputs)
    if (!out.absent) check_size(inference, out);
  return std::move(inference.outputs);
}

std::vector<Value> append_node(Graph& graph, Op op, std::vector<Value> in, std::vector<std::byte> attrs,
                               std::string name, Phase phase, uint32_t scope) {
  Node node{op, std::move(name), std::move(in), {}, std::move(attrs), phase, scope};
  const std::vector<Output> outputs = infer_outputs(graph, node);
  check_current(graph, node, rule_of(op));
  for (std::size_t i = 0; i < outputs.size(); ++i) node.out.push_back(add_output(graph, node, outputs[i], i));
  graph.nodes.push_back(node);
  return node.out;
}

}  // namespace convoy::ir
