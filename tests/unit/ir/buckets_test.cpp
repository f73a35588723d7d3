// Which gradients travel together, where they lie, and where the markers stand.
#include "ir/buckets.hpp"

#include "ir/verify.hpp"

#include "graph_maker.hpp"

#include <doctest/doctest.h>

using namespace convoy;
using namespace convoy::testing;

namespace {

constexpr uint64_t kRow = 16 * 16 * 4;  // bytes of one layer's weights

/// `layers` linear layers of 16 x 16 under a loss, differentiated, with an update of each weight.
struct Fixture : GraphMaker {
  ir::Gradients gradients;
  ir::BucketPlan plan;

  explicit Fixture(int layers, bool update = true) {
    Value x = input("x", {2, 16});
    for (int i = 0; i < layers; ++i)
      x = one(Op::linear, {x, param("w" + std::to_string(i), {16, 16})}, "fc" + std::to_string(i));
    const Value labels = input("labels", {2}, DType::i32), scale = scalar("scale"), lr = scalar("lr");
    const Value loss = all(Op::softmax_xent, {x, labels}, xent_attrs(), "loss")[0];
    graph[loss].role = Role::output;
    gradients = ir::differentiate(graph, loss, scale);
    if (!update) return;
    for (const auto& [p, g] : gradients.pairs)
      all(Op::sgd, {p, g, kNoValue, lr}, sgd_attrs(), "sgd." + graph[p].name, Phase::update);
  }
  void bucketize(uint64_t bytes, uint64_t first) {
    plan = ir::plan_buckets(graph, gradients, bytes, first);
    ir::verify(graph);
  }
  const ir::Tensor& grad(int layer) const { return graph[gradients.pairs[static_cast<std::size_t>(layer)].second]; }
};

}  // namespace

TEST_SUITE("ir/buckets") {
  TEST_CASE("buckets fill up in the order in which gradients become complete, the first one small") {
    Fixture f(5);
    f.bucketize(2 * kRow, kRow);
    CHECK(f.plan.bytes == std::vector<uint64_t>{kRow, 2 * kRow, 2 * kRow});
    CHECK(f.grad(4).bucket == 0);  // the last layer's gradient comes first
    CHECK(f.grad(3).bucket == 1);
    CHECK(f.grad(3).bucket_offset == 0);
    CHECK(f.grad(2).bucket == 1);
    CHECK(f.grad(2).bucket_offset == kRow);
    CHECK(f.grad(0).bucket == 2);
  }

  TEST_CASE("grads_ready stands right behind the last gradient of its bucket, and lists all of them") {
    Fixture f(5);
    f.bucketize(2 * kRow, kRow);
    CHECK(f.place("grads_ready.0") == f.place("fc4.wgrad") + 1);
    CHECK(f.place("grads_ready.1") == f.place("fc2.wgrad") + 1);
    CHECK(f.place("grads_ready.2") == f.place("fc0.wgrad") + 1);
    const ir::Node& n = f.node("grads_ready.1");
    CHECK(n.phase == Phase::marker);
    CHECK(n.in == std::vector<Value>{f.gradients.pairs[3].second, f.gradients.pairs[2].second});
    CHECK(ir::unpack<MarkerAttrs>(n).bucket == 1);
  }

  TEST_CASE("params_needed stands right before the first update of its bucket, each once") {
    Fixture f(5);
    f.bucketize(2 * kRow, kRow);
    CHECK(f.place("params_needed.2") + 1 == f.place("sgd.w0"));
    CHECK(f.place("params_needed.1") + 1 == f.place("sgd.w2"));
    CHECK(f.place("params_needed.0") + 1 == f.place("sgd.w4"));
    CHECK(f.count(Op::params_needed) == 3);
    CHECK(f.node("params_needed.2").in == std::vector<Value>{f.gradients.pairs[1].first, f.gradients.pairs[0].first});
  }

  TEST_CASE("a gradient larger than a bucket has one of its own") {
    Fixture f(3);
    f.bucketize(kRow / 2, kRow / 4);
    CHECK(f.plan.bytes == std::vector<uint64_t>{kRow, kRow, kRow});
  }

  TEST_CASE("one bucket holds everything where it is large enough") {
    Fixture f(3);
    f.bucketize(1 << 20, 1 << 20);
    CHECK(f.plan.bytes == std::vector<uint64_t>{3 * kRow});
    CHECK(f.count(Op::grads_ready) == 1);
  }

  TEST_CASE("gradients begin at multiples of 64 bytes") {
    GraphMaker m;
    const Value x = m.input("x", {2, 3}), labels = m.input("labels", {2}, DType::i32), scale = m.scalar("scale");
    const Value y = m.one(Op::bias_add, {m.one(Op::linear, {x, m.param("w", {5, 3})}, "fc"), m.param("b", {5})}, "bias");
    const Value loss = m.all(Op::softmax_xent, {y, labels}, xent_attrs(), "loss")[0];
    m.graph[loss].role = Role::output;
    const auto gradients = ir::differentiate(m.graph, loss, scale);
    const auto plan = ir::plan_buckets(m.graph, gradients, 1 << 20, 1 << 20);
    CHECK(m.graph[gradients.pairs[1].second].bucket_offset == 0);   // the bias: 20 bytes
    CHECK(m.graph[gradients.pairs[0].second].bucket_offset == 64);  // the weights: 60 bytes
    CHECK(plan.bytes == std::vector<uint64_t>{128});
    ir::verify(m.graph);
  }

  TEST_CASE("a node that looks at all gradients before the update needs every bucket") {
    Fixture f(3, false);
    const Value loss_scale = f.scalar("loss_scale");
    std::vector<Value> in{loss_scale};
    for (const auto& [p, g] : f.gradients.pairs) in.push_back(g);
    f.all(Op::unscale_check, in, sized<UnscaleCheckAttrs>(), "check", Phase::update);
    f.bucketize(kRow, kRow);
    for (int b = 0; b < 3; ++b) CHECK(f.place("params_needed." + std::to_string(b)) < f.place("check"));
  }

  TEST_CASE("without an update the buckets are waited for at the end") {
    Fixture f(2, false);
    f.bucketize(kRow, kRow);
    CHECK(f.count(Op::params_needed) == 2);
    CHECK(f.graph.nodes.back().op == Op::params_needed);
  }

  TEST_CASE("a gradient that nothing writes is a bug") {
    Fixture f(2);
    f.gradients.pairs[0].second = f.value(Role::grad, "grad:lost", {16, 16});
    const Thrown t = thrown([&] { ir::plan_buckets(f.graph, f.gradients, kRow, kRow); });
    CHECK(t.kind == ErrorKind::bug);
    CHECK(t.message == "nothing writes 'grad:lost'");
  }
}
