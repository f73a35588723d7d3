// The SGD emitter: the nodes it adds, and the update rule on given gradients, pinned to numbers.
// The numbers are PyTorch's formula (torch.optim.SGD, documentation of version 2) worked out apart from this code, in
// exact fractions, on parameter 1.0, learning rate 0.1 and gradients 0.5, -0.25, 0.125, 1.0, -2.0.
#include "train/optimizer.hpp"

#include "ir/verify.hpp"

#include "graph_maker.hpp"

#include <interpreter.hpp>

#include <doctest/doctest.h>

#include <cmath>

using namespace convoy;
using namespace convoy::testing;

namespace {

// The same few operations in double, perhaps in another order: a few units of the last place of numbers near 1.
constexpr double kTolerance = 1e-14;

constexpr double kLearningRate = 0.1;
constexpr double kGradients[] = {0.5, -0.25, 0.125, 1.0, -2.0};

/// Two parameters of three elements under one optimiser; only the first element of the first is looked at.
struct Fixture : GraphMaker {
  Value p = param("p", {3}), q = param("q", {2, 2}), unused = param("unused", {1});
  Value lr = scalar("learning_rate");
  ir::Gradients gradients{{{p, input("gp", {3})}, {q, input("gq", {2, 2})}}};

  explicit Fixture(const train::SgdOptions& o) {
    train::emit_sgd(graph, gradients, lr, o);
    ir::verify(graph);
  }
  Value state_of(const std::string& name) const {
    for (Value v = 0; v < graph.tensors.size(); ++v)
      if (graph[v].name == name && graph[v].alias_of < 0) return v;
    FAIL("no value is called " << name);
    return kNoValue;
  }
};

/// The parameter after each of the five steps, beginning with momentum buffer `buffer`.
std::vector<double> run(const train::SgdOptions& o, double buffer = 0) {
  Fixture f(o);
  const ir::FlatGraph flat(f.graph);
  reference::Interpreter run(flat.view());
  run.f(f.lr)[0] = kLearningRate;
  run.f(f.p)[0] = 1;
  if (o.momentum != 0) run.f(f.state_of("momentum:p"))[0] = buffer;
  std::vector<double> out;
  for (double g : kGradients) {
    run.f(f.gradients.pairs[0].second)[0] = g;
    run.run();
    out.push_back(run.f(f.p)[0]);
  }
  return out;
}

void check_steps(const std::vector<double>& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < want.size(); ++i)
    CHECK_MESSAGE(std::abs(got[i] - want[i]) <= kTolerance, "step " << i + 1 << ": " << got[i] << ", not " << want[i]);
}

}  // namespace

TEST_SUITE("train/optimizer") {
  TEST_CASE("five steps: plain") {
    check_steps(run({}), {0.95, 0.975, 0.9625, 0.8625, 1.0625});
  }

  TEST_CASE("five steps: weight decay") {
    check_steps(run({0, 0, 0.01, false}), {0.949, 0.973051, 0.959577949, 0.858618371051, 1.057759752679949});
  }

  TEST_CASE("five steps: momentum") {
    check_steps(run({0.9, 0, 0, false}), {0.95, 0.93, 0.8995, 0.77205, 0.857345});
  }

  TEST_CASE("five steps: momentum and weight decay") {
    check_steps(run({0.9, 0, 0.01, false}), {0.949, 0.927151, 0.894059749, 0.763383563351, 0.845011612703549});
  }

  TEST_CASE("five steps: Nesterov momentum and weight decay") {
    check_steps(run({0.9, 0, 0.01, true}), {0.9031, 0.90757411, 0.864439208191, 0.6460421787663371, 0.9190353674318563});
  }

  TEST_CASE("five steps: dampening, from a buffer that is not fresh") {
    check_steps(run({0.9, 0.5, 0.01, false}, 0.3), {0.9475, 0.91227625, 0.873868736875, 0.7888650406940625, 0.8119672816108717});
  }

  TEST_CASE("with dampening a fresh buffer of zeros takes a share of the first gradient; PyTorch would take all of it") {
    check_steps(run({0.9, 0.5, 0, false}), {0.975, 0.965, 0.94975, 0.886025, 0.9286725});
  }

  TEST_CASE("the learning rate is read anew in each step") {
    Fixture f({});
    const ir::FlatGraph flat(f.graph);
    reference::Interpreter run(flat.view());
    run.f(f.p)[0] = 1;
    run.f(f.gradients.pairs[0].second)[0] = 1;
    for (double lr : {0.5, 0.25, 0.0}) {
      run.f(f.lr)[0] = lr;
      run.run();
    }
    CHECK(run.f(f.p)[0] == 0.25);
  }

  TEST_CASE("each parameter with a gradient gets a node, and with momentum a state of zeros") {
    Fixture f({0.9, 0, 1e-4, true});
    CHECK(f.count(Op::sgd) == 2);  // none for the parameter without a gradient
    const ir::Node& n = f.node("sgd.q");
    const Value buffer = f.state_of("momentum:q");
    CHECK(n.phase == Phase::update);
    CHECK(n.in == std::vector<Value>{f.q, f.gradients.pairs[1].second, buffer, f.lr});
    CHECK(f.graph[buffer].role == Role::state);
    CHECK(f.graph[buffer].init == "zeros");
    CHECK(f.graph[buffer].dims == Dims{2, 2});
    CHECK(f.graph[n.out[0]].alias_of == static_cast<int32_t>(f.q));
    CHECK(f.graph[n.out[1]].alias_of == static_cast<int32_t>(buffer));
    const auto a = ir::unpack<SgdAttrs>(n);
    CHECK(a.momentum == 0.9);
    CHECK(a.weight_decay == 1e-4);
    CHECK(a.nesterov == 1);
  }

  TEST_CASE("without momentum there is no buffer") {
    Fixture f({});
    CHECK(f.node("sgd.p").in[2] == kNoValue);
    CHECK(f.node("sgd.p").out[1] == kNoValue);
    for (const ir::Tensor& t : f.graph.tensors) CHECK(t.role != Role::state);
  }

  TEST_CASE("Nesterov momentum needs momentum and no dampening, as in PyTorch") {
    for (const train::SgdOptions& o : {train::SgdOptions{0, 0, 0, true}, train::SgdOptions{0.9, 0.1, 0, true}}) {
      const Thrown t = thrown([&] { Fixture f(o); });
      CHECK(t.kind == ErrorKind::usage);
      check_mentions(t.message, {"optimizer.nesterov needs optimizer.momentum above 0 and no dampening"});
    }
  }
}
