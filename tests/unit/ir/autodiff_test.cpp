// What differentiation emits: which nodes, on which values, and nothing else. Their numbers are checked against
// finite differences in finite_difference_test.cpp.
#include "ir/autodiff.hpp"

#include "ir/passes.hpp"
#include "ir/verify.hpp"

#include "graph_maker.hpp"

#include <doctest/doctest.h>

using namespace convoy;
using namespace convoy::testing;

namespace {

/// A graph whose loss is the cross-entropy of (2, 5) logits.
struct Fixture : GraphMaker {
  Value images = input("images", {2, 3, 8, 8});
  Value labels = input("labels", {2}, DType::i32);
  Value scale = scalar("scale");
  Value loss = kNoValue;
  ir::Gradients gradients;

  Value conv(Value x, const std::string& name, int64_t out) {
    return one(Op::conv2d, {x, param(name + ".weight", {out, dims(x)[1], 3, 3})}, conv_attrs({{1, 1}, {1, 1}, {1, 1}}), name);
  }
  std::vector<Value> bn(Value x, const std::string& name) {
    const Dims c{dims(x)[1]};
    return all(Op::batch_norm, {x, param(name + ".weight", c), param(name + ".bias", c), state(name + ".mean", c),
                                state(name + ".var", c)}, batch_norm_attrs(), name);
  }
  /// (2, C, H, W) or (2, features) to a loss.
  Value head(Value x, const std::string& name = "head") {
    const Value flat = dims(x).size() == 4 ? one(Op::global_avg_pool, {x}, name + ".gap") : x;
    const Value logits = one(Op::linear, {flat, param(name + ".weight", {5, dims(flat)[1]})}, name);
    return all(Op::softmax_xent, {logits, labels}, xent_attrs(), name + ".loss")[0];
  }
  void differentiate(Value of) {
    loss = of;
    graph[loss].role = Role::output;
    gradients = ir::differentiate(graph, loss, scale);
    ir::verify(graph);
  }
  std::string grad_of(const std::string& param) const {
    for (const auto& [p, g] : gradients.pairs)
      if (graph[p].name == param) return graph[g].name;
    return "";
  }
  const ir::Node& writer(Value v) const {
    for (const ir::Node& n : graph.nodes)
      for (Value out : n.out)
        if (out == v) return n;
    FAIL("nothing writes value " << v);
    return graph.nodes[0];
  }
  const ir::Node& writer_of_grad(const std::string& param) const {
    for (const auto& [p, g] : gradients.pairs)
      if (graph[p].name == param) return writer(g);
    FAIL("no gradient of " << param);
    return graph.nodes[0];
  }
};

}  // namespace

TEST_SUITE("ir/autodiff") {
  TEST_CASE("a small network gets the gradients of its parameters, in their order, and no more") {
    Fixture f;
    const Value x = f.one(Op::relu, {f.bn(f.conv(f.images, "conv", 4), "bn")[0]}, "relu");
    f.differentiate(f.head(x));
    std::vector<std::string> names;
    for (const auto& [p, g] : f.gradients.pairs) {
      names.push_back(f.graph[p].name);
      CHECK(f.graph[g].name == "grad:" + f.graph[p].name);
      CHECK(f.graph[g].role == Role::grad);
      CHECK(f.graph[g].dims == f.graph[p].dims);
      CHECK(f.writer(g).phase == Phase::backward);
    }
    CHECK(names == std::vector<std::string>{"conv.weight", "bn.weight", "bn.bias", "head.weight"});
    CHECK(f.count(Op::conv2d_wgrad) == 1);
    CHECK(f.count(Op::conv2d_dgrad) == 0);  // the images need no gradient
    CHECK(f.count(Op::add_n) == 0);         // nothing is used twice
    const std::size_t nodes = f.graph.nodes.size();
    ir::eliminate_dead(f.graph);
    CHECK(f.graph.nodes.size() == nodes);  // nothing is emitted for nothing
  }

  TEST_CASE("the chain begins with the scale, in the loss's own gradient") {
    Fixture f;
    f.differentiate(f.head(f.images));
    const ir::Node& n = f.node("head.loss.grad");
    CHECK(n.op == Op::softmax_xent_grad);
    CHECK(n.in == std::vector<Value>{f.node("head.loss").out[1], f.labels, f.scale});
  }

  TEST_CASE("gradients read the outputs they need and not the inputs they do not") {
    Fixture f;
    const Value c = f.conv(f.images, "conv", 4);
    const auto b = f.bn(c, "bn");
    const Value r = f.one(Op::relu, {b[0]}, "relu");
    f.differentiate(f.head(r));
    CHECK(f.node("relu.grad").in[1] == r);  // the output: the input may be overwritten
    const ir::Node& bn = f.node("bn.grad");
    CHECK(bn.in[1] == c);
    CHECK(bn.in[3] == b[1]);  // saved statistics, not the running ones
    CHECK(bn.in[4] == b[2]);
    CHECK(bn.attrs == f.node("bn").attrs);
  }

  TEST_CASE("a value used several times gets the sum of what flows back, in one node") {
    Fixture f;
    const Value c = f.conv(f.images, "conv", 4);
    const Value a = f.one(Op::add, {c, c}, "twice");
    f.differentiate(f.head(f.one(Op::add, {f.one(Op::relu, {c}, "relu"), a}, "again")));
    const ir::Node& sum = f.node("conv.sum");
    CHECK(sum.op == Op::add_n);
    CHECK(sum.in.size() == 3);
    CHECK(f.count(Op::add_n) == 1);
    CHECK(f.node("conv.wgrad").in[0] == sum.out[0]);
  }

  TEST_CASE("an addition hands its gradient on as it is") {
    Fixture f;
    const Value a = f.conv(f.images, "a", 4), b = f.conv(f.images, "b", 4);
    f.differentiate(f.head(f.one(Op::add, {a, b}, "add")));
    CHECK(f.node("a.wgrad").in[0] == f.node("b.wgrad").in[0]);
    CHECK(f.node("a.wgrad").in[0] == f.node("head.gap.grad").out[0]);
  }

  TEST_CASE("a parameter used twice gets one gradient, the sum") {
    Fixture f;
    const Value w = f.param("shared", {3, 3, 3, 3});
    const auto attrs = conv_attrs({{1, 1}, {1, 1}, {1, 1}});
    const Value y = f.one(Op::conv2d, {f.one(Op::conv2d, {f.images, w}, attrs, "first"), w}, attrs, "second");
    f.differentiate(f.head(y));
    CHECK(f.writer_of_grad("shared").op == Op::add_n);
    CHECK(f.writer_of_grad("shared").in == std::vector<Value>{f.node("second.wgrad").out[0], f.node("first.wgrad").out[0]});
  }

  TEST_CASE("concatenation gives each needed part its slice") {
    Fixture f;
    const Value a = f.conv(f.images, "a", 2), b = f.conv(f.images, "b", 4);
    const Value zeros = f.one(Op::fill, {}, fill_attrs({2, 1, 8, 8}, 0), "zeros");
    f.differentiate(f.head(f.one(Op::concat, {a, zeros, b}, concat_attrs(1), "concat")));
    CHECK(f.count(Op::slice) == 2);  // none for the constant
    const auto first = ir::unpack<SliceAttrs>(f.writer(f.node("a.wgrad").in[0]));
    const auto last = ir::unpack<SliceAttrs>(f.writer(f.node("b.wgrad").in[0]));
    CHECK(first.start == 0);
    CHECK(first.length == 2);
    CHECK(last.start == 3);
    CHECK(last.length == 4);
    CHECK(last.axis == 1);
  }

  TEST_CASE("auxiliary heads: each loss gets its weight's share of the scale") {
    Fixture f;
    const Value x = f.conv(f.images, "conv", 4);
    const Value aux = f.head(x, "aux"), main = f.head(x, "main");
    f.differentiate(f.one(Op::weighted_sum, {main, aux}, weighted_attrs({1, 0.4}), "loss"));
    const ir::Node& share = f.writer(f.node("aux.loss.grad").in[2]);
    CHECK(share.op == Op::weighted_sum);
    CHECK(share.in == std::vector<Value>{f.scale});
    CHECK(ir::unpack<WeightedSumAttrs>(share).n == 1);
    CHECK(ir::unpack<WeightedSumAttrs>(share).weight[0] == 0.4);
    CHECK(f.node("conv.sum").op == Op::add_n);
  }

  TEST_CASE("operators that carry attributes back") {
    Fixture f;
    Value x = f.conv(f.images, "conv", 4);
    x = f.one(Op::lrn, {x}, lrn_attrs(), "lrn");
    const Value rng = f.rng();
    const Value dropped = f.one(Op::dropout, {x, rng}, dropout_attrs(0.5, 7), "drop");
    PoolSpec overlapping;
    overlapping.window[0] = overlapping.window[1] = 3;
    const Value pooled = f.one(Op::max_pool, {dropped}, pool_attrs(overlapping), "max");
    const Value mean = f.one(Op::avg_pool, {pooled}, pool_attrs(), "avg");
    const Value flat = f.one(Op::reshape, {mean}, reshape_attrs({2, 4}), "flatten");
    f.differentiate(f.head(f.one(Op::bias_add, {flat, f.param("bias", {4})}, "bias_add")));
    for (const char* name : {"lrn", "drop", "max", "avg"})
      CHECK(f.node(std::string(name) + ".grad").attrs == f.node(name).attrs);
    CHECK(f.node("drop.grad").in[1] == rng);
    CHECK(f.node("lrn.grad").in == std::vector<Value>{f.node("drop.grad").out[0], f.node("conv").out[0], x});
    CHECK(f.node("max.grad").in == std::vector<Value>{f.node("avg.grad").out[0], dropped, pooled});
    CHECK(f.dims(f.node("flatten.grad").out[0]) == f.dims(mean));
    CHECK(f.writer_of_grad("bias").op == Op::bias_grad);
  }

  TEST_CASE("a cast is undone by a cast, and through an integer nothing flows") {
    Fixture f;
    const Value c = f.conv(f.images, "conv", 4);
    const Value there = f.one(Op::cast, {c}, cast_attrs(DType::f16), "half");
    const Value back = f.one(Op::cast, {there}, cast_attrs(DType::f32), "full");
    const Value whole = f.one(Op::cast, {f.one(Op::cast, {c}, cast_attrs(DType::i32), "int")}, cast_attrs(DType::f32), "float");
    f.differentiate(f.head(f.one(Op::add, {back, whole}, "add")));
    CHECK(f.graph[f.node("full.grad").out[0]].dtype == DType::f16);
    CHECK(f.graph[f.node("half.grad").out[0]].dtype == DType::f32);
    CHECK(f.node("conv.wgrad").in[0] == f.node("half.grad").out[0]);  // the other path ended
  }

  TEST_CASE("values that no parameter stands behind get no gradient") {
    Fixture f;
    const Value gamma = f.value(Role::frozen, "gamma", {3}), beta = f.param("beta", {3});
    const auto b = f.all(Op::batch_norm, {f.images, gamma, beta, f.state("mean", {3}), f.state("var", {3})}, batch_norm_attrs(), "bn");
    const Value side = f.one(Op::relu, {f.images}, "side");
    f.param("unused", {4});
    f.differentiate(f.head(f.one(Op::add, {b[0], side}, "add")));
    CHECK(f.grad_of("beta") == "grad:beta");
    CHECK(f.grad_of("gamma").empty());   // stored with the weights, never trained
    CHECK(f.grad_of("unused").empty());  // the loss does not depend on it
    CHECK(f.count(Op::relu_grad) == 0);
  }

  TEST_CASE("a loss that depends on no parameter has no gradients and no backward nodes") {
    Fixture f;
    f.param("unused", {4});
    const Value logits = f.input("logits", {2, 5});
    const Value loss = f.all(Op::softmax_xent, {logits, f.labels}, xent_attrs(), "loss")[0];
    const std::size_t nodes = f.graph.nodes.size();
    f.differentiate(loss);
    CHECK(f.gradients.pairs.empty());
    CHECK(f.graph.nodes.size() == nodes);
  }

  TEST_CASE("parameters that share one gradient get memory of their own") {
    Fixture f;
    const Value a = f.param("a", {2, 5}), b = f.param("b", {2, 5});
    const Value logits = f.one(Op::add, {a, b}, "add");
    f.differentiate(f.all(Op::softmax_xent, {logits, f.labels}, xent_attrs(), "loss")[0]);
    REQUIRE(f.gradients.pairs.size() == 2);
    CHECK(f.gradients.pairs[0].second != f.gradients.pairs[1].second);
    CHECK(f.grad_of("a") == "grad:a");
    CHECK(f.grad_of("b") == "grad:b");
  }

  TEST_CASE("a gradient that backward still reads is copied, so that a strategy may reduce the copy") {
    Fixture f;
    const Value c = f.one(Op::reshape, {f.conv(f.images, "conv", 4)}, reshape_attrs({2, 256}), "flat");
    const Value offset = f.param("offset", {2, 256});  // its gradient is what also flows into the convolution
    f.differentiate(f.head(f.one(Op::add, {c, offset}, "add")));
    const ir::Node& copy = f.writer_of_grad("offset");
    CHECK(copy.op == Op::add_n);
    CHECK(copy.in.size() == 1);
    CHECK(f.graph[copy.in[0]].role == Role::activation);
    CHECK(f.writer_of_grad("conv.weight").op == Op::conv2d_wgrad);  // where nobody else reads it there is no copy
  }

  TEST_CASE("the scale itself is never a gradient") {
    Fixture f;
    const Value p = f.param("p", {});
    f.differentiate(f.one(Op::add, {p, f.all(Op::softmax_xent, {f.input("logits", {2, 5}), f.labels}, xent_attrs(), "xent")[0]}, "loss"));
    REQUIRE(f.gradients.pairs.size() == 1);
    CHECK(f.gradients.pairs[0].second != f.scale);
    CHECK(f.graph[f.scale].role == Role::scalar);
  }

  TEST_CASE("a path without a gradient is refused, by operator and name") {
    Fixture f;
    const Value c = f.conv(f.images, "conv", 4);
    const Dims four{4};
    const Value b = f.one(Op::batch_norm_infer, {c, f.param("g", four), f.param("b", four), f.state("m", four), f.state("v", four)},
                          batch_norm_attrs(), "fixed_bn");
    const Value loss = f.head(b);
    const Thrown t = thrown([&] { ir::differentiate(f.graph, loss, f.scale); });
    CHECK(t.kind == ErrorKind::usage);
    CHECK(t.message == "the loss depends on a parameter through batch_norm_infer 'fixed_bn', which has no gradient");
  }

  TEST_CASE("a path through a second output is refused: a missing gradient is never silent") {
    Fixture f;
    const auto b = f.bn(f.conv(f.images, "conv", 5), "bn");
    const Value mean = f.one(Op::reshape, {b[1]}, reshape_attrs({1, 5}), "mean");
    const Value labels = f.input("label", {1}, DType::i32);
    const Value loss = f.all(Op::softmax_xent, {mean, labels}, xent_attrs(), "loss")[0];
    const Thrown t = thrown([&] { ir::differentiate(f.graph, loss, f.scale); });
    CHECK(t.message == "the loss depends on a parameter through output 1 of batch_norm 'bn'; only output 0 has a gradient");
  }

  TEST_CASE("loss and scale must be f32 scalars") {
    Fixture f;
    const Value loss = f.head(f.images);
    CHECK(thrown([&] { ir::differentiate(f.graph, f.images, f.scale); }).message == "the loss must be an f32 scalar");
    CHECK(thrown([&] { ir::differentiate(f.graph, loss, f.labels); }).message == "the scale must be an f32 scalar");
    CHECK(thrown([&] { ir::differentiate(f.graph, 12345, f.scale); }).message == "the loss must be an f32 scalar");
  }
}
