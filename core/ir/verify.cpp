#include "ir/verify.hpp"

#include "error.hpp"
#include "ir/op_rule.hpp"

#include <fmt/format.h>

#include <set>

namespace convoy::ir {

namespace {

[[noreturn]] void broken(const Node& n, const std::string& how) {
  throw Error(ErrorKind::bug, fmt::format("graph: node '{}' {}", n.name, how));
}

class Verification {
 public:
  explicit Verification(const Graph& g) : graph_(g), defined_(g.tensors.size(), false), stale_(g.tensors.size(), false) {}

  void run() {
    check_boundary();
    for (const Node& n : graph_.nodes) {
      check_inputs(n);
      check_shapes(n);
      define_outputs(n);
    }
  }

 private:
  void check_boundary() {
    std::set<std::string> names;
    for (Value v = 0; v < graph_.tensors.size(); ++v) {
      const Tensor& t = graph_[v];
      if (!is_boundary(t.role) || t.alias_of >= 0) continue;
      if (!names.insert(t.name).second) throw Error(ErrorKind::bug, "graph: two boundary values are called '" + t.name + "'");
      const bool produced = t.role == Role::output || t.role == Role::grad;
      defined_[v] = !produced;
    }
  }

  void check_inputs(const Node& n) {
    for (Value v : n.in) {
      if (v == kNoValue) continue;
      if (v >= defined_.size() || !defined_[v]) broken(n, fmt::format("reads value {} before it is written", v));
      if (stale_[v]) broken(n, fmt::format("reads '{}' after it was updated in place", graph_[v].name));
    }
  }

  void check_shapes(const Node& n) {
    Node copy = n;
    Inference inference(graph_, copy);
    rule_of(n.op).infer(inference);
    if (inference.outputs.size() != n.out.size()) broken(n, "has the wrong number of outputs");
    for (std::size_t i = 0; i < n.out.size(); ++i) {
      if (n.out[i] == kNoValue || inference.outputs[i].absent) continue;
      if (graph_[n.out[i]].dims != inference.outputs[i].dims || graph_[n.out[i]].dtype != inference.outputs[i].dtype)
        broken(n, fmt::format("gives {}, its value says {}", shape_text(inference.outputs[i].dims),
                              shape_text(graph_[n.out[i]].dims)));
    }
  }

  void define_outputs(const Node& n) {
    for (Value v : n.out) {
      if (v == kNoValue) continue;
      if (v >= defined_.size() || defined_[v]) broken(n, fmt::format("writes value {} a second time", v));
      defined_[v] = true;
      if (const int32_t old = graph_[v].alias_of; old >= 0) stale_[static_cast<Value>(old)] = true;
    }
  }

  const Graph& graph_;
  std::vector<bool> defined_;
  std::vector<bool> stale_;  // boundary values whose memory already holds newer content
};

}  // namespace

void verify(const Graph& graph) { Verification(graph).run(); }

}  // namespace convoy::ir
