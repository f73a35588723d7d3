// The verifier lets a real training graph pass and catches each way of breaking it by hand.
#include "ir/verify.hpp"

#include "ir/autodiff.hpp"
#include "ir/buckets.hpp"

#include "graph_maker.hpp"

#include <doctest/doctest.h>

#include <functional>

using namespace convoy;
using namespace convoy::testing;

namespace {

/// Forward, backward, markers, update: everything that a graph can have.
struct Fixture : GraphMaker {
  Value conv_weight = kNoValue;
  Fixture() {
    const Value x = input("x", {2, 3, 8, 8}), labels = input("labels", {2}, DType::i32);
    const Value scale = scalar("scale"), lr = scalar("lr");
    conv_weight = param("conv.weight", {4, 3, 3, 3});
    const Value c = one(Op::conv2d, {x, conv_weight}, conv_attrs(), "conv");
    const Dims four{4};
    const Value b = all(Op::batch_norm, {c, param("bn.weight", four), param("bn.bias", four), state("bn.mean", four),
                                         state("bn.var", four)}, batch_norm_attrs(), "bn")[0];
    const Value r = one(Op::relu, {b}, "relu");
    const Value logits = one(Op::linear, {one(Op::global_avg_pool, {r}, "gap"), param("fc.weight", {5, 4})}, "fc");
    const Value loss = all(Op::softmax_xent, {logits, labels}, xent_attrs(), "loss")[0];
    graph[loss].role = Role::output;
    const auto gradients = ir::differentiate(graph, loss, scale);
    for (const auto& [p, g] : gradients.pairs) {
      const Value buffer = state("momentum:" + graph[p].name, graph[p].dims);
      all(Op::sgd, {p, g, buffer, lr}, sgd_attrs(0.9), "sgd." + graph[p].name, Phase::update);
    }
    ir::plan_buckets(graph, gradients, 256, 64);
  }
  Value out(const std::string& node_name, std::size_t i = 0) const { return node(node_name).out[i]; }
  void move(const std::string& name, std::size_t to) {
    const ir::Node n = node(name);
    graph.nodes.erase(graph.nodes.begin() + static_cast<std::ptrdiff_t>(place(name)));
    graph.nodes.insert(graph.nodes.begin() + static_cast<std::ptrdiff_t>(to), n);
  }
};

/// Breaks a good graph and checks that the verifier says how.
void check_caught(const std::vector<std::string>& parts, const std::function<void(Fixture&)>& damage) {
  Fixture f;
  damage(f);
  const Thrown t = thrown([&] { ir::verify(f.graph); });
  CHECK_MESSAGE(!t.message.empty(), "not caught: " << parts[0]);
  CHECK(t.kind == ErrorKind::bug);
  check_mentions(t.message, parts);
}

}  // namespace

TEST_SUITE("ir/verify") {
  TEST_CASE("a whole training graph passes") {
    Fixture f;
    CHECK(thrown([&] { ir::verify(f.graph); }).message == "");
    CHECK(f.count(Op::grads_ready) > 1);
  }

  TEST_CASE("order: reading before writing, writing twice, never writing") {
    check_caught({"node 'bn'", "reads value", "before it is written"}, [](Fixture& f) { f.move("bn", 0); });
    check_caught({"node 'relu'", "writes value", "a second time"}, [](Fixture& f) { f.node("relu").out = f.node("conv").out; f.graph[f.out("conv")].dims = f.graph[f.node("relu").in[0]].dims; });
    check_caught({"nothing writes 'lost'"}, [](Fixture& f) { f.value(Role::output, "lost", {}); });
    check_caught({"node 'relu'", "reads value", "before it is written"}, [](Fixture& f) { f.node("relu").in[0] = f.value(Role::activation, "ghost", {2, 4, 6, 6}); });
  }

  TEST_CASE("in-place updates: reading the old content afterwards") {
    check_caught({"node 'late' reads 'conv.weight' after it was updated in place"}, [](Fixture& f) {
      ir::Node late = f.node("relu");  // appending it would be refused already
      late.name = "late";
      late.in = {f.conv_weight};
      late.out = {f.value(Role::activation, "late", {4, 3, 3, 3})};
      f.graph.nodes.push_back(late);
    });
    check_caught({"node 'bn2'", "reads 'bn.mean' after it was updated in place"}, [](Fixture& f) {
      ir::Node again = f.node("bn");
      again.name = "bn2";
      for (Value& v : again.out) {
        ir::Tensor t = f.graph[v];
        v = f.graph.add(t);
      }
      f.graph.nodes.insert(f.graph.nodes.begin() + 2, again);
    });
  }

  TEST_CASE("rules: shapes, types, arity, attributes, outputs") {
    check_caught({"conv2d 'conv' of (2,3,8,8) (4,3,3,3)", "groups is 0"}, [](Fixture& f) {
      auto a = ir::unpack<ConvAttrs>(f.node("conv"));
      a.groups = 0;
      f.node("conv").attrs = ir::pack(a);
    });
    check_caught({"node 'relu' gives f32 (2,4,6,6), its value is f32 (2,4,6,5)"}, [](Fixture& f) { f.graph[f.out("relu")].dims[3] = 5; });
    check_caught({"node 'relu' gives f32 (2,4,6,6), its value is f16 (2,4,6,6)"}, [](Fixture& f) { f.graph[f.out("relu")].dtype = DType::f16; });
    check_caught({"relu 'relu'", "0 inputs given, 1 are expected"}, [](Fixture& f) { f.node("relu").in.clear(); });
    check_caught({"relu 'relu': input 0 is absent"}, [](Fixture& f) { f.node("relu").in[0] = kNoValue; });
    check_caught({"relu 'relu': input 0 is value 99999, which does not exist"}, [](Fixture& f) { f.node("relu").in[0] = 99999; });
    check_caught({"node 'relu' writes value 99999, which does not exist"}, [](Fixture& f) { f.node("relu").out[0] = 99999; });
    check_caught({"node 'loss' has 3 outputs, 4 are expected"}, [](Fixture& f) { f.node("loss").out.pop_back(); });
    check_caught({"node 'relu' has an output that its operator does not give, or lacks one"}, [](Fixture& f) { f.node("relu").out[0] = kNoValue; });
    check_caught({"batch_norm 'bn'", "struct_size"}, [](Fixture& f) { f.node("bn").attrs.clear(); });
    check_caught({"node 'conv' has incomplete attributes"}, [](Fixture& f) {
      auto a = ir::unpack<ConvAttrs>(f.node("conv"));
      a.input_size[0] = 0;
      f.node("conv").attrs = ir::pack(a);
    });
    check_caught({"no operator has the number 1234"}, [](Fixture& f) { f.node("relu").op = static_cast<Op>(1234); });
  }

  TEST_CASE("places: phases and scopes") {
    check_caught({"node 'relu.grad' is a relu_grad in a phase where none may be"}, [](Fixture& f) { f.node("relu.grad").phase = Phase::forward; });
    check_caught({"node 'sgd.fc.weight' is a sgd in a phase where none may be"}, [](Fixture& f) { f.node("sgd.fc.weight").phase = Phase::backward; });
    check_caught({"node 'relu' is a relu in a phase where none may be"}, [](Fixture& f) { f.node("relu").phase = Phase::marker; });
    check_caught({"node 'grads_ready.0' is a grads_ready in a phase where none may be"}, [](Fixture& f) { f.node("grads_ready.0").phase = Phase::update; });
    check_caught({"node 'relu' is in scope 3, which does not exist"}, [](Fixture& f) { f.node("relu").scope = 3; });
  }

  TEST_CASE("values: names, types and what they are the update of") {
    check_caught({"two boundary values are called 'x'"}, [](Fixture& f) { f.value(Role::input, "x", {1}); });
    check_caught({"or one has no name"}, [](Fixture& f) { f.value(Role::input, "", {1}); });
    check_caught({"'odd' has no type"}, [](Fixture& f) { f.value(Role::input, "odd", {1}, DType{}); });
    check_caught({"updates a value that does not exist"}, [](Fixture& f) { f.graph[f.out("sgd.fc.weight")].alias_of = 99999; });
    check_caught({"'fc.weight' updates 'conv.weight', which is no such boundary value"}, [](Fixture& f) { f.graph[f.out("sgd.fc.weight")].alias_of = static_cast<int32_t>(f.conv_weight); });
    check_caught({"node 'relu' does not write"}, [](Fixture& f) {
      ir::Tensor& t = f.graph[f.out("relu")];
      t.role = Role::state;
      t.alias_of = static_cast<int32_t>(f.state("s", t.dims));
    });
    check_caught({"node 'sgd.fc.weight' does not write 'fc.weight'"}, [](Fixture& f) {
      f.graph[f.out("sgd.fc.weight")].alias_of = -1;
      f.graph[f.out("sgd.fc.weight")].role = Role::activation;
    });
  }

  TEST_CASE("gradients: nothing reads them between grads_ready and the update") {
    check_caught({"node 'early' reads 'grad:fc.weight', which a strategy may already be reducing"}, [](Fixture& f) {
      ir::Node early = f.node("relu");
      early.name = "early";
      early.phase = Phase::backward;
      early.in = {f.out("fc.wgrad")};
      early.out = {f.value(Role::activation, "early", {5, 4})};
      f.graph.nodes.insert(f.graph.nodes.begin() + static_cast<std::ptrdiff_t>(f.place("grads_ready.0") + 1), early);
    });
    check_caught({"node 'sgd.fc.weight' reads 'grad:fc.weight' before params_needed of bucket 0"}, [](Fixture& f) {
      f.move("params_needed.0", f.graph.nodes.size() - 1);
    });
  }

  TEST_CASE("buckets: overlaps, strangers, missing and misplaced markers") {
    check_caught({"overlaps another gradient in bucket 1"}, [](Fixture& f) {
      for (ir::Tensor& t : f.graph.tensors)
        if (t.bucket == 1) t.bucket_offset = 0;
    });
    check_caught({"'conv.weight' is in bucket 0 and no gradient"}, [](Fixture& f) { f.graph[f.conv_weight].bucket = 0; });
    check_caught({"bucket 0 lacks a marker"}, [](Fixture& f) {
      f.graph.nodes.erase(f.graph.nodes.begin() + static_cast<std::ptrdiff_t>(f.place("grads_ready.0")));
      f.graph.nodes.erase(f.graph.nodes.begin() + static_cast<std::ptrdiff_t>(f.place("params_needed.0")));
      f.graph.nodes.erase(f.graph.nodes.begin() + static_cast<std::ptrdiff_t>(f.place("sgd.fc.weight")));
    });
    check_caught({"node 'params_needed.0' stands before the grads_ready of its bucket"}, [](Fixture& f) {
      f.graph.nodes.erase(f.graph.nodes.begin() + static_cast<std::ptrdiff_t>(f.place("grads_ready.0")));
    });
    check_caught({"node 'grads_ready.0'", "before it is written"}, [](Fixture& f) { f.move("grads_ready.0", 0); });
    check_caught({"node 'grads_ready.0' stands twice for its bucket"}, [](Fixture& f) {
      f.graph.nodes.insert(f.graph.nodes.begin() + static_cast<std::ptrdiff_t>(f.place("grads_ready.0")), f.node("grads_ready.0"));
    });
    check_caught({"does not list exactly the gradients of its bucket"}, [](Fixture& f) { f.node("grads_ready.1").in.pop_back(); });
    check_caught({"is a marker of bucket 77, which has no gradients"}, [](Fixture& f) {
      f.node("grads_ready.0").attrs = ir::pack(MarkerAttrs{sizeof(MarkerAttrs), 77});
    });
  }
}
