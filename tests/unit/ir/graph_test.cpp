// The flat form that backends read, its hash, the cost of a graph and its text.
#include "ir/graph.hpp"

#include "ir/autodiff.hpp"
#include "ir/buckets.hpp"
#include "ir/cost.hpp"
#include "ir/dump.hpp"

#include "graph_maker.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <memory>

using namespace convoy;
using namespace convoy::testing;

namespace {

struct Fixture : GraphMaker {
  Value x = input("x", {2, 4, 8, 8});
  Value w = param("conv.weight", {6, 2, 3, 3});
  Value fc = param("fc.weight", {5, 6});
  Value labels = input("labels", {2}, DType::i32);
  Value scale = scalar("scale");
  Fixture() {
    ConvSpec s;
    s.groups = 2;
    const Value y = one(Op::conv2d, {x, w}, conv_attrs(s), "conv");
    const Value logits = one(Op::linear, {one(Op::global_avg_pool, {y}, "gap"), fc}, "fc");
    const Value loss = all(Op::softmax_xent, {logits, labels}, xent_attrs(), "loss")[0];
    graph[loss].role = Role::output;
    const auto gradients = ir::differentiate(graph, loss, scale);
    const Value lr = scalar("lr");
    for (const auto& [p, g] : gradients.pairs)
      all(Op::sgd, {p, g, kNoValue, lr}, sgd_attrs(), "sgd." + graph[p].name, Phase::update);
    ir::plan_buckets(graph, gradients, 1 << 20, 1 << 20);
  }
};

std::string text(Str s) { return {s.p, s.n}; }

uint64_t hash_after(const std::function<void(Fixture&)>& change) {
  Fixture f;
  change(f);
  return ir::FlatGraph(f.graph).view().hash;
}

}  // namespace

TEST_SUITE("ir/graph") {
  TEST_CASE("the flat tables hold what the graph holds") {
    Fixture f;
    f.graph.scopes.push_back("layer1");
    f.node("gap").scope = 1;
    const ir::FlatGraph flat(f.graph);
    const GraphView& v = flat.view();
    CHECK(v.struct_size == sizeof(GraphView));
    CHECK(v.opset == CONVOY_OPSET);
    REQUIRE(v.tensors.n == f.graph.tensors.size());
    REQUIRE(v.nodes.n == f.graph.nodes.size());
    for (uint32_t i = 0; i < v.tensors.n; ++i) {
      const ir::Tensor& t = f.graph.tensors[i];
      const TensorDesc& d = v.tensors[i];
      CHECK(text(d.name) == t.name);
      CHECK(Dims(d.dim, d.dim + d.rank) == t.dims);
      CHECK(d.dtype == t.dtype);
      CHECK(d.role == t.role);
      CHECK(d.alias_of == t.alias_of);
      CHECK(d.bucket == t.bucket);
      CHECK(d.bucket_offset == t.bucket_offset);
    }
    for (uint32_t i = 0; i < v.nodes.n; ++i) {
      const ir::Node& n = f.graph.nodes[i];
      const NodeDesc& d = v.nodes[i];
      CHECK(text(d.name) == n.name);
      CHECK(d.op == n.op);
      CHECK(d.op_version == 1);
      CHECK(d.phase == n.phase);
      CHECK(std::vector<Value>(v.edges.p + d.first_in, v.edges.p + d.first_in + d.n_in) == n.in);
      CHECK(std::vector<Value>(v.edges.p + d.first_out, v.edges.p + d.first_out + d.n_out) == n.out);
      REQUIRE(d.attrs_size == n.attrs.size());
      CHECK((d.attrs_size == 0) == (d.attrs == nullptr));
      if (d.attrs_size > 0) {
        CHECK(std::memcmp(d.attrs, n.attrs.data(), d.attrs_size) == 0);
        CHECK(reinterpret_cast<uintptr_t>(d.attrs) % alignof(FillAttrs) == 0);  // backends read it as its struct
      }
    }
    REQUIRE(v.scopes.n == 2);
    CHECK(text(v.scopes[1]) == "layer1");
    CHECK(v.nodes[static_cast<uint32_t>(f.place("gap"))].scope == 1);
  }

  TEST_CASE("the flat tables do not depend on the graph they were made from") {
    auto f = std::make_unique<Fixture>();
    const ir::FlatGraph flat(f->graph);
    f.reset();
    CHECK(text(flat.view().tensors[0].name) == "x");
    CHECK(static_cast<const ConvAttrs*>(flat.view().nodes[0].attrs)->groups == 2);
  }

  TEST_CASE("the hash does not see names and scopes") {
    const uint64_t hash = hash_after([](Fixture&) {});
    CHECK(hash == hash_after([](Fixture&) {}));
    CHECK(hash == hash_after([](Fixture& f) {
      for (ir::Tensor& t : f.graph.tensors) t.name += "!";
      for (ir::Node& n : f.graph.nodes) n.name += "!";
      f.graph.scopes.push_back("layer1");
      f.node("conv!").scope = 1;
    }));
  }

  TEST_CASE("the hash sees structure, shapes, types, attributes, aliases and buckets") {
    const uint64_t hash = hash_after([](Fixture&) {});
    const std::vector<std::function<void(Fixture&)>> changes{
        [](Fixture& f) { f.graph[f.x].dims[0] = 3; },
        [](Fixture& f) { f.graph[f.x].dims = {2, 4, 64}; },
        [](Fixture& f) { f.graph[f.x].dtype = DType::f16; },
        [](Fixture& f) { f.graph[f.w].role = Role::frozen; },
        [](Fixture& f) { f.graph[f.node("sgd.fc.weight").out[0]].alias_of = 0; },
        [](Fixture& f) { f.graph[f.node("fc.wgrad").out[0]].bucket = 1; },
        [](Fixture& f) { f.graph[f.node("fc.wgrad").out[0]].bucket_offset += 64; },
        [](Fixture& f) { f.node("conv").op = Op::conv2d_dgrad; },
        [](Fixture& f) { f.node("gap").phase = Phase::backward; },
        [](Fixture& f) { std::swap(f.node("conv").in[0], f.node("conv").in[1]); },
        [](Fixture& f) { f.node("conv").attrs[8] ^= std::byte{1}; },
        [](Fixture& f) { f.graph.nodes.pop_back(); },
        [](Fixture& f) { f.input("more", {1}); },
    };
    for (std::size_t i = 0; i < changes.size(); ++i) CHECK_MESSAGE(hash_after(changes[i]) != hash, "change " << i);
  }

  TEST_CASE("costs are those that papers count: multiply-adds of the forward convolutions and linear layers") {
    Fixture f;
    f.value(Role::frozen, "fixed", {7});
    f.state("mean", {6});
    f.state("momentum:fc.weight", {5, 6});
    const ir::Cost c = ir::cost_of(f.graph);
    CHECK(c.macs == 2 * 6 * 6 * 6 * 2 * 9 + 2 * 5 * 6);  // y (2,6,6,6) of 2 channels a group and 3 x 3, then the head
    CHECK(c.trainable == 6 * 2 * 9 + 5 * 6);
    CHECK(c.parameters == c.trainable + 7);
    CHECK(c.buffers == 6);  // running statistics, not momentum; updated values are not counted again
    CHECK(ir::macs_of(f.graph, f.node("fc")) == 60);
    CHECK(ir::macs_of(f.graph, f.node("gap")) == 0);
    CHECK(ir::macs_of(f.graph, f.node("conv.wgrad")) == 0);
  }

  TEST_CASE("a graph reads as text, one node a line") {
    Fixture f;
    const std::string text = ir::dump(f.graph);
    CHECK(text.substr(0, text.find('\n')) ==
          "forward   conv = conv2d(%0:x (2,4,8,8), %1:conv.weight (6,2,3,3)) -> %5 (2,6,6,6)");
    check_mentions(text, {"backward  fc.wgrad = linear_wgrad(", "-> %14:grad:fc.weight (5,6) @0+0\n",
                          "marker    grads_ready.0 = grads_ready(%14:grad:fc.weight (5,6) @0+0, %16:grad:conv.weight (6,2,3,3) @0+128)\n",
                          "update    sgd.fc.weight = sgd(%2:fc.weight (5,6), ", ", -, "});
  }
}
