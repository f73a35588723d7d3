// Graphs of one node, with data: the cases that each operator's tests list, and what holds every backend to them.
// The truth is the reference kernels in double. All inputs and outputs are boundary values, so that backends which
// only compile whole graphs can run them too.
#pragma once

#include "ir/graph.hpp"

#include <convoy/ops.hpp>
#include <convoy/sdk/philox.hpp>
#include <convoy/sdk/plugin.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace convoy::contract {

using Dims = std::vector<int64_t>;
/// Makes element `i` of a tensor.
using Fill = std::function<double(sdk::Random& random, int64_t i)>;

/// In [-1, 1).
Fill around_zero();
/// In [lo, hi).
Fill between(double lo, double hi);
/// Few different values, so that there are ties: -2, -1, 0, 1, 2.
Fill few_values();
/// Whole numbers below n; every `gap`-th is -1 where gap > 0.
Fill classes(int64_t n, int64_t gap = 0);
Fill bytes();
Fill constant(double value);
Fill listed(std::vector<double> values);

/// `Case c("3x3 s2"); Value x = c.give(...); c.run(Op::relu, {x});`
class Case {
 public:
  /// `seed`: another one where the data must have nothing to do with those of a case that they are combined with.
  explicit Case(std::string what, uint64_t seed = 1) : what_(std::move(what)), seed_(seed) {}

  Value give(Role role, const Dims& dims, const Fill& fill, DType t = DType::f32);
  /// An input of the step, f32.
  Value x(const Dims& dims, const Fill& fill = around_zero()) { return give(Role::input, dims, fill); }
  Value param(const Dims& dims, const Fill& fill = around_zero()) { return give(Role::param, dims, fill); }
  Value state(const Dims& dims, const Fill& fill = around_zero()) { return give(Role::state, dims, fill); }
  Value scalar(double value) { return give(Role::scalar, {}, constant(value)); }

  /// The node. Its outputs are outputs of the graph, but for those that update an input in place.
  template <class Attrs>
  void run(Op op, std::vector<Value> in, Attrs attrs) {
    attrs.struct_size = sizeof attrs;
    append(op, std::move(in), ir::pack(attrs));
  }
  void run(Op op, std::vector<Value> in) { append(op, std::move(in), {}); }

  const std::string& what() const { return what_; }
  const ir::Graph& graph() const { return graph_; }
  const std::map<Value, std::vector<double>>& data() const { return data_; }
  Op op() const { return graph_.nodes[0].op; }

 private:
  void append(Op op, std::vector<Value> in, std::vector<std::byte> attrs);

  std::string what_;
  uint64_t seed_;
  ir::Graph graph_;
  std::map<Value, std::vector<double>> data_;  // of inputs, exact in their type
};

/// What the node computes in double, by output; of values that update another in place, the new content.
std::map<Value, std::vector<double>> truth_of(const Case& c);
/// The same of its first output: for a backward case that needs what its forward node made.
std::vector<double> first_output(const Case& c);

/// Runs every case on every backend in every execution that it offers. Fails where a claimed case does not run or
/// differs, where a refusal has no reason, and where a report does not have one note for the node.
/// Prints one line for each operator: how many of the cases each backend runs, and why not the others.
void hold_to_reference(const std::vector<Case>& cases);

/// For what the reference cannot compute: every backend in every execution claims the case or gives a reason.
void check_claims(const Case& c);

}  // namespace convoy::contract
