// The clean-up passes: what goes, and above all what has to stay.
#include "ir/passes.hpp"

#include "ir/verify.hpp"

#include "graph_maker.hpp"

#include <doctest/doctest.h>

using namespace convoy;
using namespace convoy::testing;

namespace {

struct Fixture : GraphMaker {
  Value x = input("x", {2, 3, 4, 4});

  Value relu(Value v, const std::string& name) { return one(Op::relu, {v}, name); }
  void output(Value v) { graph[v].role = Role::output; }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const ir::Node& n : graph.nodes) out.push_back(n.name);
    return out;
  }
};

using Names = std::vector<std::string>;

}  // namespace

TEST_SUITE("ir/passes") {
  TEST_CASE("dead code goes, whole chains of it, and the order of the rest stays") {
    Fixture f;
    const Value a = f.relu(f.x, "a"), dead = f.relu(a, "dead");
    f.relu(dead, "deader");
    f.output(f.relu(a, "out"));
    ir::eliminate_dead(f.graph);
    CHECK(f.names() == Names{"a", "out"});
    ir::verify(f.graph);
  }

  TEST_CASE("in-place updates, gradients and markers keep what they need alive") {
    Fixture f;
    const Dims c{3};
    f.all(Op::batch_norm, {f.relu(f.x, "before"), f.param("g", c), f.param("b", c), f.state("m", c), f.state("v", c)},
          batch_norm_attrs(), "bn");  // nobody reads y, but the running statistics change
    const Value g = f.one(Op::bias_grad, {f.relu(f.x, "dy")}, "bias_grad", Phase::backward);
    f.graph[g].role = Role::grad;
    ir::eliminate_dead(f.graph);
    CHECK(f.names() == Names{"before", "bn", "dy", "bias_grad"});
  }

  TEST_CASE("a node with one used output of several stays") {
    Fixture f;
    const auto out = f.all(Op::softmax_xent, {f.input("l", {2, 3}), f.input("t", {2}, DType::i32)}, xent_attrs(), "loss");
    f.output(out[3]);
    ir::eliminate_dead(f.graph);
    CHECK(f.names() == Names{"loss"});
  }

  TEST_CASE("nodes that compute the same share one result") {
    Fixture f;
    const Value a = f.relu(f.x, "a"), b = f.relu(f.x, "b");
    const Value c = f.relu(a, "c"), d = f.relu(b, "d");  // equal only once a and b are
    f.output(f.one(Op::add, {c, d}, "sum"));
    ir::merge_common(f.graph);
    CHECK(f.names() == Names{"a", "c", "sum"});
    CHECK(f.node("sum").in == std::vector<Value>{c, c});
    ir::verify(f.graph);
  }

  TEST_CASE("other attributes, operators or inputs are other results") {
    Fixture f;
    PoolSpec wide;
    wide.window[0] = 3;
    const Value a = f.one(Op::max_pool, {f.x}, pool_attrs(), "a"), b = f.one(Op::max_pool, {f.x}, pool_attrs(wide), "b");
    const Value c = f.one(Op::avg_pool, {f.x}, pool_attrs(), "c");
    const Value d = f.one(Op::max_pool, {f.relu(f.x, "r")}, pool_attrs(), "d");
    for (Value v : {a, b, c, d}) f.output(f.relu(v, "out" + std::to_string(v)));
    const std::size_t nodes = f.graph.nodes.size();
    ir::merge_common(f.graph);
    CHECK(f.graph.nodes.size() == nodes);
  }

  TEST_CASE("random draws, in-place updates and boundary values are never merged") {
    Fixture f;
    const Value rng = f.rng();
    const Value d1 = f.one(Op::dropout, {f.x, rng}, dropout_attrs(0.5, 0), "d1");
    const Value d2 = f.one(Op::dropout, {f.x, rng}, dropout_attrs(0.5, 1), "d2");
    auto same = ir::unpack<DropoutAttrs>(f.node("d1"));
    f.node("d2").attrs = ir::pack(same);  // even where they look alike
    f.output(f.one(Op::add, {d1, d2}, "sum"));
    f.output(f.relu(f.x, "out1"));
    f.output(f.relu(f.x, "out2"));  // two outputs have two addresses
    const std::size_t nodes = f.graph.nodes.size();
    ir::merge_common(f.graph);
    CHECK(f.graph.nodes.size() == nodes);
  }

  TEST_CASE("an output is not read instead of an activation, nor a gradient") {
    Fixture f;
    f.output(f.relu(f.x, "out"));
    const Value same = f.relu(f.x, "same");
    f.output(f.one(Op::add, {same, same}, "sum"));
    ir::merge_common(f.graph);
    CHECK(f.node("sum").in == std::vector<Value>{same, same});
  }

  TEST_CASE("what changes nothing is passed by") {
    Fixture f;
    Value y = f.one(Op::cast, {f.x}, cast_attrs(DType::f32), "cast");
    y = f.one(Op::reshape, {y}, reshape_attrs({2, 3, 4, 4}), "reshape");
    y = f.one(Op::dropout, {y, f.rng()}, dropout_attrs(0), "dropout");
    y = f.one(Op::concat, {y}, concat_attrs(1), "concat");
    y = f.one(Op::weighted_sum, {y}, weighted_attrs({1}), "weighted");
    y = f.one(Op::add_n, {y}, "sum", Phase::backward);
    y = f.one(Op::slice, {y}, slice_attrs(1, 0, 3), "slice", Phase::backward);
    f.output(f.relu(y, "out"));
    ir::fold_constants(f.graph);
    CHECK(f.names() == Names{"out"});
    CHECK(f.node("out").in[0] == f.x);
    ir::verify(f.graph);
  }

  TEST_CASE("what changes something stays") {
    Fixture f;
    Value y = f.one(Op::cast, {f.x}, cast_attrs(DType::f16), "cast");
    y = f.one(Op::reshape, {y}, reshape_attrs({2, 48}), "reshape");
    y = f.one(Op::dropout, {y, f.rng()}, dropout_attrs(0.1), "dropout");
    y = f.one(Op::concat, {y, y}, concat_attrs(1), "concat");
    y = f.one(Op::weighted_sum, {y}, weighted_attrs({0.5}), "weighted");
    y = f.one(Op::slice, {y}, slice_attrs(1, 0, 3), "slice", Phase::backward);
    f.output(f.relu(y, "out"));
    const std::size_t nodes = f.graph.nodes.size();
    ir::fold_constants(f.graph);
    CHECK(f.graph.nodes.size() == nodes);
  }

  TEST_CASE("a copy of a parameter is kept: the parameter is overwritten in the step, the copy is not") {
    Fixture f;
    const Value p = f.param("p", {2, 3});
    f.output(f.relu(f.one(Op::add_n, {p}, "copy", Phase::backward), "out"));
    ir::fold_constants(f.graph);
    CHECK(f.names() == Names{"copy", "out"});
  }

  TEST_CASE("what is computed from constants becomes one") {
    Fixture f;
    const Value a = f.one(Op::fill, {}, fill_attrs({2, 3}, -1.5), "a"), b = f.one(Op::fill, {}, fill_attrs({6}, 2), "b");
    const Value c = f.one(Op::add, {a, f.one(Op::reshape, {b}, reshape_attrs({2, 3}), "shaped")}, "c");
    f.output(f.one(Op::concat, {f.one(Op::relu, {c}, "r"), f.input("y", {2, 1})}, concat_attrs(1), "out"));
    ir::fold_constants(f.graph);
    ir::eliminate_dead(f.graph);
    CHECK(f.names() == Names{"r", "out"});
    const auto fill = ir::unpack<FillAttrs>(f.node("r"));
    CHECK(f.node("r").op == Op::fill);
    CHECK(fill.value == 0.5);
    CHECK(fill.dim[1] == 3);
    ir::verify(f.graph);
  }

  TEST_CASE("a constant that f32 cannot hold is left to the device") {
    Fixture f;
    const Value a = f.one(Op::fill, {}, fill_attrs({2}, 0.1), "a");
    f.output(f.one(Op::concat, {f.one(Op::add, {a, a}, "sum")}, concat_attrs(0), "out"));
    ir::fold_constants(f.graph);
    CHECK(f.node("sum").op == Op::add);
  }
}
