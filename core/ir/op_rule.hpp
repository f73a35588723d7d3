// What the core knows of an operator: its arity, its shape rule, its gradient and its cost.
// Not how it is computed. One stem in ops/ for each family of operators; the table is made from the file list.
#pragma once

#include "ir/graph.hpp"

#include <convoy/abi.hpp>

#include <cstdint>
#include <initializer_list>
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

/// A node seen by its shape rule, before or after it stands in the graph. The rule checks inputs and attributes,
/// completes attributes that the author may leave out, and lists outputs. Inputs that are not optional are there.
class Inference {
 public:
  Inference(const Graph& graph, Node& node) : graph_(graph), node_(node) {}

  const Graph& graph() const { return graph_; }
  const Node& node() const { return node_; }
  std::size_t inputs() const { return node_.in.size(); }
  bool has(std::size_t i) const { return i < node_.in.size() && node_.in[i] != kNoValue; }
  const Tensor& in(std::size_t i) const { return graph_[node_.in[i]]; }
  /// Attributes as the author gave them, zeros where he gave none.
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
  /// The updated content of input `i`, which must be a boundary value in that role.
  void give_in_place(std::size_t i, Role role);
  void give_nothing() { outputs.push_back({DType::f32, {}, -1, true}); }

  /// Throws: the message gets operator, node and input shapes in front.
  [[noreturn]] void refuse(const std::string& why) const;
  void need_rank(std::size_t i, std::size_t rank) const;
  void need_type(std::size_t i, DType t) const;
  /// A type that gradients flow through: f32, f16 or bf16.
  void need_float(std::size_t i) const;
  void need_same_type(std::size_t i, std::size_t j) const;
  /// Shape and type.
  void need_alike(std::size_t i, std::size_t j) const;
  /// One f32 value for each channel.
  void need_channel_vector(std::size_t vector, int64_t channels) const;
  void need_f32_scalar(std::size_t i) const;
  void need_positive(const char* what, int64_t value) const;

  std::vector<Output> outputs;

 private:
  const Graph& graph_;
  Node& node_;
};

/// A node whose gradient is being emitted. Output 0 has a gradient, no other output has.
class Backward {
 public:
  Backward(Graph& graph, uint32_t node, Value dy, std::vector<bool> needed);

  const Node& node() const { return node_; }
  Value in(std::size_t i) const { return node_.in[i]; }
  Value out(std::size_t i) const { return node_.out[i]; }
  /// Gradient of output 0.
  Value dy() const { return dy_; }
  /// Whether a parameter stands behind input `i`.
  bool needed(std::size_t i) const { return needed_[i]; }
  const Tensor& tensor(Value v) const { return graph_[v]; }
  template <class Attrs>
  Attrs attrs() const {
    return unpack<Attrs>(node_);
  }

  /// Adds a backward node; `what` is put behind the forward node's name.
  std::vector<Value> emit(Op op, std::vector<Value> in, std::vector<std::byte> attrs, const char* what);
  Value emit_one(Op op, std::vector<Value> in, std::vector<std::byte> attrs, const char* what) {
    return emit(op, std::move(in), std::move(attrs), what)[0];
  }
  /// Several inputs may be given the same value.
  void set(std::size_t input, Value gradient) { gradients[input] = gradient; }

  std::vector<Value> gradients;  // by input, kNoValue = none

 private:
  Graph& graph_;
  Node node_;  // a copy: the graph's table moves while gradients are added
  Value dy_;
  std::vector<bool> needed_;
};

constexpr uint32_t kAnyNumber = 0xffffffffu;

struct OpRule {
  Op op{};
  const char* name = "";
  uint32_t min_inputs = 0;
  uint32_t max_inputs = 0;         // kAnyNumber = no limit
  uint32_t optional_inputs = 0;    // bit i: input i may be kNoValue
  uint64_t attrs_size = 0;         // sizeof its attribute struct, 0 = none
  bool attrs_optional = false;     // the rule can fill all of them in
  bool random = false;             // two nodes that look the same are two draws
  Phase earliest = Phase::forward;  // models may use forward operators only
  void (*infer)(Inference&) = nullptr;
  /// Sets the gradient of every needed input. Null = not differentiable.
  void (*gradient)(Backward&) = nullptr;
  /// Multiply-adds, saturating. Null = none are counted.
  int64_t (*macs)(const Graph&, const Node&) = nullptr;
  /// Output 0 is input 0, unchanged. Null = never.
  bool (*identity)(const Graph&, const Node&) = nullptr;
  /// Every element of output 0 where each input is a tensor of one repeated value. Null = not known.
  double (*constant)(const std::vector<double>& in) = nullptr;
};

/// All rules, in no order.
std::span<const OpRule> all_rules();
/// Null where the catalogue has no such operator.
const OpRule* find_rule(Op op);
/// Errors: bug, where there is none.
const OpRule& rule_of(Op op);

/// Checks a node and lists its outputs; completes the node's attributes. The node need not stand in the graph.
/// Errors: usage, with operator, node and shapes; bug, where the operator does not exist.
std::vector<Output> infer_outputs(const Graph& graph, Node& node);

/// Adds a node behind the others after its rule has agreed, and its outputs as activations (in-place outputs take
/// role and name of what they update). Returns the outputs.
/// Errors: as infer_outputs, and usage where an input was meanwhile updated in place. The graph is then unchanged.
std::vector<Value> append_node(Graph& graph, Op op, std::vector<Value> in, std::vector<std::byte> attrs,
                               std::string name, Phase phase, uint32_t scope = 0);

/// "(64,3,7,7)".
std::string shape_text(const std::vector<int64_t>& dims);

/// Product of numbers that are not negative; the largest int64_t where it would be more.
int64_t saturating_product(std::span<const int64_t> factors);
inline int64_t saturating_product(std::initializer_list<int64_t> factors) {
  return saturating_product(std::span<const int64_t>(factors.begin(), factors.size()));
}

}  // namespace convoy::ir
