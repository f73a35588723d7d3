// A model's graph for tests, built through the core's own builder, and what tests ask about it.
#pragma once

#include "ir/builder.hpp"
#include "ir/cost.hpp"
#include "ir/graph.hpp"

#include <convoy/sdk/plugin.hpp>

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "recording_host.hpp"

namespace convoy::testing {

using NamedShapes = std::vector<std::pair<std::string, std::vector<int64_t>>>;

struct BuiltModel {
  Code code = Code::ok;
  std::string message;  // where code is not ok: the builder's and the model's, innermost first
  ir::Graph graph;
  Value loss = kNoValue;
  Value logits = kNoValue;

  /// Names and shapes of boundary values in one of `roles`, in the model's order.
  NamedShapes shapes(std::initializer_list<Role> roles) const {
    NamedShapes out;
    for (const ir::Tensor& t : graph.tensors)
      for (Role r : roles)
        if (t.role == r && t.alias_of < 0) out.emplace_back(t.name, t.dims);
    return out;
  }
  /// Trained and frozen, as weight files hold them.
  NamedShapes parameters() const { return shapes({Role::param, Role::frozen}); }
  NamedShapes buffers() const { return shapes({Role::state}); }

  int64_t elements(std::initializer_list<Role> roles) const {
    int64_t n = 0;
    for (const auto& [name, dims] : shapes(roles)) {
      int64_t k = 1;
      for (int64_t d : dims) k *= d;
      n += k;
    }
    return n;
  }
  int64_t macs() const { return ir::cost_of(graph).macs; }
  /// The boundary value or the node of that name; fails the test where there is none.
  const ir::Tensor& value(const std::string& name) const {
    for (const ir::Tensor& t : graph.tensors)
      if (t.name == name) return t;
    FAIL("no value is called " << name);
    return graph.tensors[0];
  }
  const ir::Node& node(const std::string& name) const {
    for (const ir::Node& n : graph.nodes)
      if (n.name == name) return n;
    FAIL("no node is called " << name);
    return graph.nodes[0];
  }
  int64_t count(Op op) const {
    int64_t n = 0;
    for (const ir::Node& node : graph.nodes) n += node.op == op ? 1 : 0;
    return n;
  }
};

/// Asks the model for its defaults where `s` has zeros, as the core does, and builds.
inline BuiltModel build(RecordingHost& host, IModel& model, ModelSpec s) {
  BuiltModel out;
  s.struct_size = sizeof(s);
  if (s.batch == 0) s.batch = 1;
  if (s.dtype == DType{}) s.dtype = DType::f32;
  REQUIRE(model.defaults(&s) == Code::ok);
  ir::GraphBuilder builder(out.graph, [&](Code c, std::string_view where, std::string_view message) {
    return host.fail(c, {where.data(), where.size()}, {message.data(), message.size()});
  });
  out.code = model.build(s, builder, &out.loss, &out.logits);
  out.message = host.take();
  if (out.code != Code::ok) return out;
  CHECK(out.graph[out.loss].dims.empty());
  CHECK(out.graph[out.logits].dims == std::vector<int64_t>{s.batch, s.classes});
  return out;
}

}  // namespace convoy::testing
