// Graphs for tests in few words: values and nodes without a model, attributes without their boilerplate.
// Adds nodes as the core does, by append_node; the builder that models use has tests of its own.
#pragma once

#include "error.hpp"
#include "ir/graph.hpp"
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace convoy::testing {

using Dims = std::vector<int64_t>;

/// Attributes as an author writes them: sized, with ones where a zero makes no sense.
struct ConvSpec {
  int32_t stride[2] = {1, 1};
  int32_t pad_lo[2] = {0, 0};
  int32_t pad_hi[2] = {0, 0};
  int32_t dilation[2] = {1, 1};
  int32_t groups = 1;
};

inline ConvAttrs conv_attrs(const ConvSpec& s = {}) {
  ConvAttrs a{};
  a.struct_size = sizeof a;
  for (int i = 0; i < 2; ++i) {
    a.stride[i] = s.stride[i];
    a.pad_lo[i] = s.pad_lo[i];
    a.pad_hi[i] = s.pad_hi[i];
    a.dilation[i] = s.dilation[i];
  }
  a.groups = s.groups;
  a.compute = DType::f32;
  return a;
}

struct PoolSpec {
  int32_t window[2] = {2, 2};
  int32_t stride[2] = {2, 2};
  int32_t pad_lo[2] = {0, 0};
  int32_t pad_hi[2] = {0, 0};
  bool ceil_mode = false;
  bool count_include_pad = true;
};

inline PoolAttrs pool_attrs(const PoolSpec& s = {}) {
  PoolAttrs a{};
  a.struct_size = sizeof a;
  for (int i = 0; i < 2; ++i) {
    a.window[i] = s.window[i];
    a.stride[i] = s.stride[i];
    a.pad_lo[i] = s.pad_lo[i];
    a.pad_hi[i] = s.pad_hi[i];
  }
  a.ceil_mode = s.ceil_mode ? 1 : 0;
  a.count_include_pad = s.count_include_pad ? 1 : 0;
  return a;
}

template <class Attrs>
Attrs sized() {
  Attrs a{};
  a.struct_size = sizeof a;
  return a;
}

inline BatchNormAttrs batch_norm_attrs(double eps = 1e-5, double momentum = 0.1) {
  auto a = sized<BatchNormAttrs>();
  a.eps = eps;
  a.momentum = momentum;
  return a;
}

inline LrnAttrs lrn_attrs(int32_t size = 3, double alpha = 1e-4, double beta = 0.75, double k = 2) {
  auto a = sized<LrnAttrs>();
  a.size = size;
  a.alpha = alpha;
  a.beta = beta;
  a.k = k;
  return a;
}

inline DropoutAttrs dropout_attrs(double p, uint32_t stream = 0) {
  auto a = sized<DropoutAttrs>();
  a.p = p;
  a.stream = stream;
  return a;
}

inline ConcatAttrs concat_attrs(int32_t axis) { return {sizeof(ConcatAttrs), axis}; }

inline SliceAttrs slice_attrs(int32_t axis, int64_t start, int64_t length) {
  return {sizeof(SliceAttrs), axis, start, length};
}

inline ReshapeAttrs reshape_attrs(const Dims& dims) {
  auto a = sized<ReshapeAttrs>();
  a.rank = static_cast<uint32_t>(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) a.dim[i] = dims[i];
  return a;
}

inline SoftmaxXentAttrs xent_attrs(double label_smoothing = 0) {
  auto a = sized<SoftmaxXentAttrs>();
  a.label_smoothing = label_smoothing;
  return a;
}

inline WeightedSumAttrs weighted_attrs(const std::vector<double>& weights) {
  auto a = sized<WeightedSumAttrs>();
  a.n = static_cast<uint32_t>(weights.size());
  for (std::size_t i = 0; i < weights.size() && i < 8; ++i) a.weight[i] = weights[i];
  return a;
}

inline CastAttrs cast_attrs(DType to) { return {sizeof(CastAttrs), to}; }

inline FillAttrs fill_attrs(const Dims& dims, double value) {
  auto a = sized<FillAttrs>();
  a.dtype = DType::f32;
  a.rank = static_cast<uint32_t>(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) a.dim[i] = dims[i];
  a.value = value;
  return a;
}

inline SgdAttrs sgd_attrs(double momentum = 0) {
  auto a = sized<SgdAttrs>();
  a.momentum = momentum;
  return a;
}

class GraphMaker {
 public:
  ir::Graph graph;

  Value value(Role role, const std::string& name, const Dims& dims, DType t = DType::f32) {
    ir::Tensor v;
    v.name = name;
    v.dtype = t;
    v.dims = dims;
    v.role = role;
    return graph.add(std::move(v));
  }
  Value input(const std::string& name, const Dims& dims, DType t = DType::f32) { return value(Role::input, name, dims, t); }
  Value param(const std::string& name, const Dims& dims) { return value(Role::param, name, dims); }
  Value state(const std::string& name, const Dims& dims) { return value(Role::state, name, dims); }
  Value scalar(const std::string& name) { return value(Role::scalar, name, {}); }
  Value rng() { return value(Role::scalar, "rng", {4}, DType::i64); }

  std::vector<Value> bytes(Op op, const std::vector<Value>& in, std::vector<std::byte> attrs, const std::string& name,
                           Phase phase = Phase::forward) {
    return ir::append_node(graph, op, in, std::move(attrs), name, phase);
  }
  template <class Attrs>
  std::vector<Value> all(Op op, const std::vector<Value>& in, const Attrs& attrs, const std::string& name,
                         Phase phase = Phase::forward) {
    return bytes(op, in, ir::pack(attrs), name, phase);
  }
  template <class Attrs>
  Value one(Op op, const std::vector<Value>& in, const Attrs& attrs, const std::string& name,
            Phase phase = Phase::forward) {
    return all(op, in, attrs, name, phase)[0];
  }
  Value one(Op op, const std::vector<Value>& in, const std::string& name, Phase phase = Phase::forward) {
    return bytes(op, in, {}, name, phase)[0];
  }

  Dims dims(Value v) const { return graph[v].dims; }

  /// The node of that name; fails the test where there is none.
  const ir::Node& node(const std::string& name) const {
    for (const ir::Node& n : graph.nodes)
      if (n.name == name) return n;
    FAIL("no node is called " << name);
    return graph.nodes[0];
  }
  ir::Node& node(const std::string& name) { return const_cast<ir::Node&>(std::as_const(*this).node(name)); }
  /// Where it stands, and how many of an operator there are.
  std::size_t place(const std::string& name) const {
    return static_cast<std::size_t>(&node(name) - graph.nodes.data());
  }
  int64_t count(Op op) const {
    int64_t n = 0;
    for (const ir::Node& node : graph.nodes) n += node.op == op ? 1 : 0;
    return n;
  }
};

/// What a call throws: its message, and whose fault it says it is. "" where it throws nothing.
struct Thrown {
  std::string message;
  ErrorKind kind = ErrorKind::bug;
};

template <class F>
Thrown thrown(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return {e.what(), e.kind()};
  }
  return {};
}

/// Checks that `text` holds every one of `parts`.
inline void check_mentions(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) CHECK_MESSAGE(text.find(part) != std::string::npos, "'" << part << "' is not in: " << text);
}

}  // namespace convoy::testing
