// Whole small networks, trained and then evaluated: every backend in every execution that it offers gives what the
// reference kernels give in double. So compiled, stitched and reference agree with each other.
#include "comparison.hpp"
#include "devices.hpp"
#include "error.hpp"
#include "small_networks.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace convoy::contract {

namespace {

constexpr uint64_t kSteps = 5;

// f32 against double through five steps of a few hundred operations: rounding grows by the chain of layers and, in
// the residual network, by the division by small batch deviations. A wrong kernel is off by orders of magnitude more.
constexpr double kNmseLimit = 1e-8;
constexpr double kLossLimit = 1e-4;

struct Truth {
  explicit Truth(Network n) : training(make_graph(n, true)), inference(make_graph(n, false)) {
    DoubleRun run(training, nullptr);
    for (uint64_t i = 0; i < kSteps; ++i) curve.push_back(run.step({training, i}));
    values = run.values();
    DoubleRun evaluation(inference, &values);
    evaluated = evaluation.step({inference, kSteps});
    logits = evaluation.logits();
  }
  train::StepGraph training, inference;
  std::vector<StepOutcome> curve;
  Named values;
  StepOutcome evaluated;
  std::vector<double> logits;
};

void compare(const StepOutcome& found, const StepOutcome& expected) {
  CHECK(std::fabs(found.loss - expected.loss) <= kLossLimit * std::fabs(expected.loss));
  CHECK(found.top1 == expected.top1);
  CHECK(found.top5 == expected.top5);
}

void hold(const exec::Device& device, const std::string& execution, const Truth& truth) {
  exec::ParameterStore store(device);
  DeviceRun run(device, execution, truth.training, store);
  run.set_initial_values();
  run.refresh();
  for (uint64_t i = 0; i < kSteps; ++i) {
    INFO("step " << i);
    compare(run.step({truth.training, i}, i), truth.curve[i]);
  }
  const Named found = run.values();
  REQUIRE(found.size() == truth.values.size());
  double worst = 0;
  for (const auto& row : truth.values) {
    const std::string& name = row.first;  // clang: a structured binding cannot be captured by a message
    const std::vector<double>& values = row.second;
    const double error = nmse(found.at(name), values);
    CHECK_MESSAGE(error <= kNmseLimit, name << ": error " << error << ", " << worst_element(found.at(name), values));
    worst = std::fmax(worst, error);
  }
  DeviceRun evaluation(device, execution, truth.inference, store);  // on the same parameters
  evaluation.refresh();
  compare(evaluation.step({truth.inference, kSteps}, 0), truth.evaluated);
  const double error = nmse(evaluation.logits(), truth.logits);
  CHECK_MESSAGE(error <= kNmseLimit, "logits: error " << error);
  MESSAGE(run.program().coverage_line() << ", worst error of a parameter " << worst);
}

}  // namespace

TEST_SUITE("contract: networks") {
  TEST_CASE("a small network trains alike on every backend, compiled and stitched, and then infers alike") {
    for (const Network n : {Network::plain, Network::residual}) {
      const Truth truth(n);
      for (const auto& name : device_names()) {
        const auto device = open_device(name);
        for (const auto& execution : executions(*device)) {
          INFO(name << ", " << execution << ", " << name_of(n));
          try {
            hold(*device, execution, truth);
          } catch (const Error& e) {
            FAIL_CHECK(e.render());
          }
        }
      }
    }
  }

  TEST_CASE("training lowers the loss of a batch that is seen again and again") {
    for (const Network n : {Network::plain, Network::residual}) {
      const train::StepGraph graph = make_graph(n, true);
      for (const auto& name : device_names()) {
        const auto device = open_device(name);
        for (const auto& execution : executions(*device)) {
          exec::ParameterStore store(*device);
          DeviceRun run(*device, execution, graph, store);
          run.set_initial_values();
          run.refresh();
          StepData data(graph, 0);
          data.lr = 0.02f;
          const double before = run.step(data, 0).loss;
          double after = before;
          for (uint64_t i = 1; i < 25; ++i) after = run.step(data, i).loss;
          CHECK_MESSAGE(after < 0.7 * before, name << ", " << execution << ", " << name_of(n));
        }
      }
    }
  }

  TEST_CASE("the same steps give the same bits") {
    const train::StepGraph graph = make_graph(Network::residual, true);
    for (const auto& name : device_names()) {
      const auto device = open_device(name);
      for (const auto& execution : executions(*device)) {
        Named first;
        for (int repeat = 0; repeat < 2; ++repeat) {
          exec::ParameterStore store(*device);
          DeviceRun run(*device, execution, graph, store);
          run.set_initial_values();
          run.refresh();
          for (uint64_t i = 0; i < 3; ++i) run.step({graph, i}, i);
          if (repeat == 0) first = run.values();
          else CHECK_MESSAGE(run.values() == first, name << ", " << execution);
        }
      }
    }
  }
}

}  // namespace convoy::contract
