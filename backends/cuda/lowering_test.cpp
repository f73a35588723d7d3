// What the compiler makes of whole networks, without a device: which nodes share a kernel, and how much memory that takes.
// Results are compared on a device, by the contract and golden tests.
#include "compiler.hpp"

#include "experiment/schema.hpp"
#include "ir/graph.hpp"
#include "plugin/registry.hpp"
#include "record/log.hpp"
#include "train/step_graph.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

using namespace convoy;

namespace {

struct Plugins {
  record::SilentLog log;
  plugin::Host host{log};
  plugin::Registry registry{host, {{std::filesystem::path(CONVOY_BUILD_DIR) / "lib" / "convoy" / "plugins"}, {}}};
  Plugins() { sdk::host_slot() = &host; }
};

Plugins& plugins() {
  static auto* all = new Plugins();  // plugin libraries stay loaded and keep pointers to the host
  return *all;
}

train::StepGraph resnet(int64_t depth, uint32_t batch, bool training, DType stored) {
  experiment::OptionList options;
  for (const auto& rule : experiment::parse_schema(plugins().registry.options_schema(Kind::model, "resnet"), "resnet"))
    options.push_back({rule.key, rule.key == "depth" ? experiment::OptionData(depth) : *rule.otherwise});
  const auto model = plugins().registry.create<IModel>(Kind::model, "resnet", options);
  train::StepGraphRequest request;
  request.spec = {sizeof(ModelSpec), batch, 3, 224, 224, 1000, DType::f32, training ? 1u : 0u};
  request.images.stored = stored;
  request.optimizer = {0.9, 0, 1e-4, false};
  return train::build_step_graph(*model, "resnet", request, plugins().host);
}

struct Lowered {
  Lowered(const train::StepGraph& g, cuda::Precision precision, bool fusion = true) : flat(g.graph) {
    settings.precision = precision;
    settings.fusion = fusion;
    search = std::make_unique<cuda::PlanSearch>(settings);
    compiled = std::make_unique<cuda::Compiled>(cuda::lower_graph(flat.view(), *search, settings));
    compiled->schedule.plan();
  }
  std::string refusals() const {
    std::string out;
    for (uint32_t n = 0; n < compiled->notes.size(); ++n)
      if (compiled->notes[n].via == Via::refused) out += compiled->graph->name(n) + " " + compiled->notes[n].text + "; ";
    return out;
  }
  uint32_t steps() const { return compiled->schedule.size(cuda::When::run); }
  /// Nodes of `op` that are computed by themselves.
  int alone(Op op) const {
    int out = 0;
    for (uint32_t n = 0; n < compiled->notes.size(); ++n)
      out += flat.view().nodes[n].op == op && compiled->notes[n].via != Via::fused ? 1 : 0;
    return out;
  }
  int conversions() const {
    int out = 0;
    for (const auto& step : compiled->schedule.steps(cuda::When::run)) out += step->label().find("conversion") != std::string::npos ? 1 : 0;
    return out;
  }
  ir::FlatGraph flat;
  cuda::Settings settings;
  std::unique_ptr<cuda::PlanSearch> search;
  std::unique_ptr<cuda::Compiled> compiled;
};

}  // namespace

TEST_SUITE("cuda: lowering") {
  TEST_CASE("a residual network is covered in every precision, trained and evaluated") {
    for (const bool training : {true, false}) {
      const auto g = resnet(50, 8, training, DType::u8);
      for (auto p : {cuda::Precision::fp32, cuda::Precision::tf32, cuda::Precision::bf16, cuda::Precision::fp16})
        for (const bool fusion : {true, false}) {
          const Lowered l(g, p, fusion);
          INFO(cuda::name_of(p) << (training ? " training" : " inference") << (fusion ? "" : " unfused"));
          CHECK(l.refusals() == "");
        }
    }
  }

  TEST_CASE("inference is a kernel for each convolution, and five more") {
    const auto g = resnet(50, 8, false, DType::u8);
    const Lowered l(g, cuda::Precision::bf16);
    CHECK(l.alone(Op::batch_norm_infer) == 0);
    CHECK(l.alone(Op::relu) == 0);
    CHECK(l.alone(Op::add) == 0);
    CHECK(l.conversions() == 0);
    CHECK(l.steps() == 53 + 5);  // normalise, max pool, mean, classifier, loss
  }

  TEST_CASE("training fuses every batch normalisation with what follows it, and its gradient with what precedes it") {
    const auto g = resnet(50, 8, true, DType::u8);
    const Lowered l(g, cuda::Precision::bf16);
    CHECK(l.alone(Op::relu) == 0);
    CHECK(l.alone(Op::relu_grad) == 0);
    CHECK(l.alone(Op::add) == 0);
    CHECK(l.alone(Op::add_n) == 1);  // in front of the first pool, which has no relu of its own
    MESSAGE(l.steps() << " steps, " << l.conversions() << " conversions, arena " << (l.compiled->schedule.arena_bytes() >> 20) << " MiB");
  }

  TEST_CASE("a batch of 256 trains in less memory than the target says") {
    const auto g = resnet(50, 256, true, DType::u8);
    const Lowered l(g, cuda::Precision::bf16);
    const double gib = static_cast<double>(l.compiled->schedule.arena_bytes()) / (1 << 30);
    MESSAGE("arena of a batch of 256: " << gib << " GiB, workspaces apart");
    CHECK(gib < 11.0);
  }
}
