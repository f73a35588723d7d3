// What the core knows of an operator: its arity, its shape rule, its gradient and its cost.
// Not how it is computed. One stem in ops/ for each family of operators; the table is made from the file list.
#pragma once

#include "ir/graph.hpp"

#include <convoy/abi.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace convoy::ir {

/// What an operator gives out.
struct Output {
  DType dtype = DType::f32;
  std::vector<int64_t> dims;
  int alias_input = -1;  // the input whose boundary memory this updates in place
  bool absent = false;   // kNoValue: an optional output that this node does not have
};

/// A node that is being added, seen by its shape rule. The rule checks, completes attributes and lists outputs.
class Inference {
 public:
  Inference(const Graph& graph, Node& node) : graph_(graph), node_(node) {}

  const Graph& graph() const { return graph_; }
  Node& node() { return node_; }
  std::size_t inputs() const { return node_.in.size(); }
  bool has(std::size_t i) const { return i < node_.in.size() && node_.in[i] != kNoValue; }
  const Tensor& in(std::size_t i) const { return graph_[node_.in[i]]; }
  /// Attributes as the author gave them; an attribute struct shorter than `Attrs` reads as zeros behind.
  template <class Attrs>
  Attrs attrs() const {
    return unpack<Attrs>(node_);
  }
  template <class Attrs>
  void set_attrs(Attrs a) {
    a.struct_size = sizeof(Attrs);
    node_.attrs = pack(a);
  }

  void give(DType dtype, std::vector<int64_t> dims) { outputs.push_back({dtype, std::move(dims), -1, false}); }
  void give_like(std::size_t i) { give(in(i).dtype, in(i).dims); }
  void give_in_place(std::size_t i) {
    outputs.push_back({in(i).dtype, in(i).dims, static_cast<int>(i), false});
  }
  void give_nothing() { outputs.push_back({DType::f32, {}, -1, true}); }

  /// Throws: the message gets operator, node and input shapes in front.
  [[noreturn]] void refuse(const std::string& why) const;
  void need_rank(std::size_t i, std::size_t rank) const;
  void need_type(std::size_t i, DType t) const;
  void need_same_shape(std::size_t i, std::size_t j) const;
  /// A vector with one element for each channel of input `i`.
  void need_channel_vector(std::size_t vector, int64_t channels) const;
  void need_positive(const char* what, int64_t value) const;

  std::vector<Output> outputs;

 private:
  const Graph& graph_;
  Node& node_;
};

/// A node whose gradient is being emitted.
class Backward {
 public:
  Backward(Graph& graph, uint32_t node, std::vector<Value> dy, std::vector<bool> needed);

  const Node& node() const { return node_; }
  Value in(std::size_t i) const { return node_.in[i]; }
  Value out(std::size_t i) const { return node_.out[i]; }
  /// Gradient of output `i`, kNoValue where nothing depends on it.
  Value dy(std::size_t i) const { return dy_[i]; }
  bool needed(std::size_t i) const { return needed_[i]; }
  template <class Attrs>
  Attrs attrs() const {
    return unpack<Attrs>(node_);
  }

  /// Adds a backward node; `what` is put behind the forward node's name.
  std::vector<Value> emit(Op op, std::vector<Value> in, std::vector<std::byte> attrs, const char* what);
  Value emit_one(Op op, std::vector<Value> in, std::vector<std::byte> attrs, const char* what) {
    return emit(op, std::move(in), std::move(attrs), what)[0];
  }
  void set(std::size_t input, Value gradient) { gradients[input] = gradient; }

  const Tensor& tensor(Value v) const { return graph_[v]; }
  std::vector<Value> gradients;  // by input, kNoValue = none

 private:
  Graph& graph_;
  Node node_;  // a copy: the graph's table moves while gradients are added
  std::vector<Value> dy_;
  std::vector<bool> needed_;
};

constexpr uint32_t kAnyNumber = 0xffffffffu;

struct OpRule {
  Op op;
  const char* name;
  uint32_t min_inputs;
  uint32_t max_inputs;  // kAnyNumber = no limit
  uint64_t attrs_size;  // sizeof its attribute struct, 0 = none
  void (*infer)(Inference&);
  void (*gradient)(Backward&) = nullptr;                       // null = not differentiable
  int64_t (*macs)(const Graph&, const Node&) = nullptr;        // null = none counted
};

/// All rules, in no order.
std::span<const OpRule> all_rules();
/// Null where the catalogue has no such operator.
const OpRule* find_rule(Op op);
/// Errors: bug, where there is none.
const OpRule& rule_of(Op op);

/// Adds a node behind the others after its rule has agreed, and its outputs as activations (in-place outputs take
/// role and name of what they update). Returns the outputs. Errors: usage, with operator, node and shapes.
std::vector<Value> append_node(Graph& graph, Op op, std::vector<Value> in, std::vector<std::byte> attrs,
                               std::string name, Phase phase, uint32_t scope = 0);

/// "(64,3,7,7)".
std::string shape_text(const std::vector<int64_t>& dims);

}  // namespace convoy::ir
