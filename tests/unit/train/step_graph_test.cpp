// What the core does to the graph of a model: the experiment's label smoothing, and the model's own.
#include "train/step_graph.hpp"

#include "ir/op_rule.hpp"
#include "record/log.hpp"

#include <convoy/ops.hpp>
#include <convoy/sdk/model.hpp>

#include <doctest/doctest.h>

#include <utility>

using namespace convoy;

namespace {

constexpr double kOwn = 0.3;

/// One linear layer, and a loss that is smoothed by kOwn without anybody's asking.
class Smoothing final : public sdk::Model {
 public:
  std::pair<sdk::Var, sdk::Var> build(sdk::Graph& g, const ModelSpec& s) override {
    const sdk::Var t = labels(g, s);
    const sdk::Var logits = g.fc(g.flatten(images(g, s)), "fc", s.classes);
    auto a = sdk::sized<SoftmaxXentAttrs>();
    a.label_smoothing = kOwn;
    return {g.node(Op::softmax_xent, {logits, t}, &a, sizeof a, "loss", 4)[0], logits};
  }
};

double smoothing_of(double asked, bool training) {
  record::SilentLog log;
  plugin::Host host(log);
  sdk::host_slot() = &host;
  train::StepGraphRequest r;
  r.spec = sdk::sized<ModelSpec>();
  r.spec.batch = 2;
  r.spec.channels = 1;
  r.spec.height = r.spec.width = 4;
  r.spec.classes = 3;
  r.spec.dtype = DType::f32;
  r.spec.training = training ? 1 : 0;
  r.label_smoothing = asked;
  Smoothing model;
  const auto g = train::build_step_graph(model, "smoothing", r, host);
  sdk::host_slot() = nullptr;
  for (const auto& n : g.graph.nodes)
    if (n.op == Op::softmax_xent) return ir::unpack<SoftmaxXentAttrs>(n).label_smoothing;
  FAIL("no loss");
  return -1;
}

}  // namespace

TEST_SUITE("step graph") {
  TEST_CASE("a model's own label smoothing stays where the experiment asks for none") { CHECK(smoothing_of(0, true) == kOwn); }
  TEST_CASE("the experiment's label smoothing replaces the model's in training") { CHECK(smoothing_of(0.1, true) == 0.1); }
  TEST_CASE("evaluation keeps the model's loss") { CHECK(smoothing_of(0.1, false) == kOwn); }
}
