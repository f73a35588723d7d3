// Networks at full size against golden files: what an independent implementation computes in double precision.
// Bounds are those of the files' README for fp32, about 3 to 10 times what an fp32 run of other software showed; they are
// named here with that reason. The device is CONVOY_TEST_DEVICE, "cpu" where that is not set.
#include "golden_network.hpp"

#include "shared_data.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>

using namespace convoy;
using namespace convoy::testing;

namespace {

constexpr double kEvalLogits = 1e-5;  // Euclidean, relative; measured 7.4e-7
constexpr double kEvalLoss = 5e-5;    // absolute; measured 3.1e-6
constexpr double kTrainLogits = 5e-5;  // l2, relative; measured 5.6e-6
constexpr double kBuffers = 3e-5;      // l2, relative; measured 2.9e-6
constexpr double kZeroGrad = 1e-5;     // |bias grad| / |weight grad| of a layer whose bias a BatchNorm takes away; measured 8e-7
constexpr double kSgdBand = 0.5;       // steps 2 to 5 of a BatchNorm network: measured 0.16; the gradient is not a vector one can follow
constexpr double kSgdStrict = 1e-2;    // all steps without BatchNorm; measured 1.5e-3
constexpr double kSgdParameters = 3e-5;  // l2, relative, after five steps without BatchNorm; measured 2.9e-6

/// Of one training pass: loss absolute; gradients l2 relative, over all parameters, the 95 % bound without BatchNorm being
/// one on the largest; probes of gradients / rms, 95 %.
struct PassBounds {
  double loss, grad_median, grad_high, grad_quantile, probes;
};

constexpr PassBounds kPlain{5e-5, 1e-5, 2e-3, 1, 3e-2};    // measured 1.9e-6; 2.7e-7, 1.6e-4; 6.4e-3
constexpr PassBounds kNorm{5e-4, 5e-3, 3e-2, .95, .3};     // measured 4.7e-5; 5e-4, 4e-3; .063
constexpr PassBounds kDeepNorm{5e-4, 5e-3, 3e-2, .95, .7};  // resnet152: measured 4.7e-5; 1.3e-3, 1e-2; .23

/// Five steps at a rate at which a BatchNorm network can be followed: the table of the files' README. Bounds are its.
struct SlowRun {
  double rate = 0;
  std::vector<double> losses;  // as many as are held; empty = no test
  double bound = 0;
};

struct Variant {
  const char* file;
  const char* model;
  experiment::OptionList options;
  PassBounds pass;
  std::vector<double> sgd;  // bounds by step at the file's own rate; what is missing is not reproducible at all
  bool falls;               // every one of the five losses is below the last
  SlowRun slow;
};

// The second step of resnet50-v2 is strict, within 1e-3. vgg16-bn diverges at its rate, so two steps alone are held.
const std::vector<double> kFollowed{kSgdStrict, kSgdStrict, kSgdStrict, kSgdStrict, kSgdStrict};
const std::vector<double> kBand{kNorm.loss, kSgdBand, kSgdBand, kSgdBand, kSgdBand};

experiment::OptionList resnet(int64_t depth, const char* version) { return {{"depth", depth}, {"version", std::string(version)}}; }
experiment::OptionList vgg(int64_t depth, bool bn) { return {{"depth", depth}, {"batch_norm", bn}, {"dropout", 0.0}}; }
experiment::OptionList alexnet(const char* variant) { return {{"variant", std::string(variant)}, {"dropout", 0.0}}; }

std::vector<Variant> residual_networks() {
  return {{"resnet50-v1", "resnet", resnet(50, "v1"), kNorm, kBand, true,
           {1e-5, {6.674211627, 6.491163075, 6.237211747, 5.991811090, 5.771560195}, 1e-2}},
          {"resnet50-v1.5", "resnet", resnet(50, "v1.5"), kNorm, kBand, true,
           {1e-5, {6.641677841, 6.461862360, 6.200688771, 5.935816813, 5.696829118}, 5e-3}},
          {"resnet50-v2", "resnet", resnet(50, "v2"), kNorm, {kNorm.loss, 1e-3, kSgdBand, kSgdBand, kSgdBand}, true,
           {1e-5, {6.951555348, 6.937964066, 6.913268884, 6.880304527, 6.841702786}, 5e-4}},
          {"resnet152-v1.5", "resnet", resnet(152, "v1.5"), kDeepNorm, {kNorm.loss, kSgdBand, kSgdBand}, true, {}}};
}

std::vector<Variant> alexnets() {
  return {{"alexnet-owt", "alexnet", alexnet("owt"), kPlain, kFollowed, true, {}},
          {"alexnet-mx", "alexnet", alexnet("mxnet"), kPlain, kFollowed, true, {}}};
}

std::vector<Variant> vggs() {
  return {{"vgg11", "vgg", vgg(11, false), kPlain, kFollowed, false, {}},
          {"vgg16", "vgg", vgg(16, false), kPlain, kFollowed, true, {}},
          {"vgg16-bn", "vgg", vgg(16, true), kNorm, {kNorm.loss, 5e-2}, false,
           {2e-6, {7.830226880, 7.325200073, 6.395548494, 5.127912763, 3.635951256}, 2e-3}}};
}

std::vector<Variant> inceptions() {
  return {{"inception-bn", "inception_bn", {{"pooling", std::string("floor")}, {"conv_bias", true}}, kNorm, kBand, true,
           {1e-5, {7.070399796, 6.999848863, 6.873491265, 6.709658569, 6.525717976}, 5e-4}},
          {"inception-v3", "inception_v3", {{"variant", std::string("torchvision")}, {"dropout", 0.0}}, kNorm, kBand, true,
           {1e-5, {6.648270093, 5.899133104, 5.354037698}, 2e-2}}};
}

GoldenBench& bench() {
  static GoldenBench b;
  return b;
}

std::vector<int64_t> top5(const float* row) {
  std::vector<int64_t> order(1000);
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + 5, order.end(), [&](int64_t a, int64_t b) { return row[a] > row[b]; });
  return {order.begin(), order.begin() + 5};
}

void check_evaluation(const GoldenFile& g, const Variant& v) {
  GoldenNetwork net(bench(), g, v.model, v.options, false);
  net.fill();
  net.run();
  const auto logits = net.values(net.graph().logits);
  const double error = relative_error({logits.begin(), logits.begin() + 1000}, g.eval_logits_first);
  MESSAGE(g.variant << " evaluation: logits " << error << " (bound " << kEvalLogits << "), loss " << net.scalar(net.graph().loss));
  CHECK(error < kEvalLogits);
  CHECK(std::abs(net.scalar(net.graph().loss) - g.eval_loss) < kEvalLoss);
  CHECK(l2_error(logits, g.eval_logits) < kEvalLogits);
  for (uint32_t n = 0; n < g.batch; ++n) CHECK(top5(logits.data() + n * 1000) == g.eval_top5[n]);
}

/// Where a BatchNorm follows, a bias changes nothing, and its gradient is zero but for rounding.
bool is_zero(const Stats& grad) {
  constexpr double kExactlyZero = 1e-10;  // such gradients are below 1e-13 in the files, all others above 1e-6
  return grad.l2 < kExactlyZero;
}

void check_gradients(const GoldenFile& g, const Variant& v, GoldenNetwork& net) {
  std::vector<double> norms, probes;
  double zeros = 0;
  for (const auto& [param, grad] : net.graph().gradients.pairs) {
    const std::string name = net.graph().graph[param].name;
    const auto& want = g.train_grads.at(name);
    const auto got = net.values(grad);
    if (is_zero(want)) {
      zeros = std::max(zeros, l2_of(got) / g.train_grads.at(name.substr(0, name.rfind('.')) + ".weight").l2);
      continue;
    }
    norms.push_back(l2_error(got, want));
    probes.push_back(probe_error(got, want));
  }
  CHECK(net.graph().gradients.pairs.size() == g.train_grads.size());
  const double median = quantile(norms, .5), high = quantile(norms, v.pass.grad_quantile), probe = quantile(probes, .95);
  MESSAGE(g.variant << " gradients: l2 median " << median << ", " << v.pass.grad_quantile * 100 << " % " << high
                    << ", probes 95 % " << probe << ", those that are zero " << zeros);
  CHECK(median < v.pass.grad_median);
  CHECK(high < v.pass.grad_high);
  CHECK(probe < v.pass.probes);
  CHECK(zeros < kZeroGrad);
}

void check_training_pass(const GoldenFile& g, const Variant& v, GoldenNetwork& net) {
  net.fill();
  net.set_scalars(0);  // one whole step that leaves the parameters as they are
  net.run();
  const double loss_error = std::abs(net.scalar(net.graph().loss) - g.train_loss);
  double buffers = 0;
  for (const auto& [name, want] : g.train_buffers) buffers = std::max(buffers, l2_error(net.values(net.find(name)), want));
  MESSAGE(g.variant << " training pass: loss off by " << loss_error << ", running statistics by " << buffers);
  CHECK(loss_error < v.pass.loss);
  CHECK(l2_error(net.values(net.graph().logits), g.train_logits) < kTrainLogits);
  CHECK(buffers < kBuffers);
  check_gradients(g, v, net);
}

std::vector<double> losses_of(GoldenNetwork& net, double lr, std::size_t steps) {
  net.fill();
  net.set_scalars(static_cast<float>(lr));
  std::vector<double> out;
  for (std::size_t i = 0; i < steps; ++i) {
    net.run();
    out.push_back(static_cast<double>(net.scalar(net.graph().loss)));
  }
  return out;
}

/// The BatchNorm networks' parameters after five steps are informative only.
void check_parameters(const GoldenFile& g, GoldenNetwork& net) {
  double worst = 0;
  for (const auto& [name, want] : g.sgd_parameters) worst = std::max(worst, l2_error(net.values(net.find(name)), want));
  MESSAGE(g.variant << " parameters after five steps: l2 off by " << worst);
  CHECK(worst < kSgdParameters);
}

void check_sgd(const GoldenFile& g, const Variant& v, GoldenNetwork& net) {
  const auto before = net.values(net.graph().gradients.pairs[0].first);
  const std::size_t steps = v.falls ? g.sgd_losses.size() : v.sgd.size();
  const auto losses = losses_of(net, g.lr, steps);
  double worst = 0;
  for (std::size_t i = 0; i < steps; ++i) {
    CAPTURE(i);
    CHECK(std::isfinite(losses[i]));
    const double error = std::abs(losses[i] - g.sgd_losses[i]);
    if (i < v.sgd.size()) worst = std::max(worst, error);
    if (i < v.sgd.size()) CHECK(error < v.sgd[i]);
    if (i > 0 && v.falls) CHECK(losses[i] < losses[i - 1]);
  }
  MESSAGE(g.variant << " steps at rate " << g.lr << ": largest difference " << worst);
  CHECK(net.values(net.graph().gradients.pairs[0].first) != before);
  if (!g.bn_gamma) check_parameters(g, net);
}

void check_slow_run(const GoldenFile& g, const SlowRun& slow, GoldenNetwork& net) {
  if (slow.losses.empty()) return;
  const auto losses = losses_of(net, slow.rate, slow.losses.size());
  double worst = 0;
  for (std::size_t i = 0; i < losses.size(); ++i) worst = std::max(worst, std::abs(losses[i] - slow.losses[i]));
  MESSAGE(g.variant << " steps at rate " << slow.rate << ": largest difference " << worst << " (bound " << slow.bound << ")");
  CHECK(worst < slow.bound);
}

void check_names(const GoldenFile& g, const GoldenNetwork& net) {
  for (const auto* list : {&g.parameters, &g.buffers})
    for (const auto& [name, dims] : *list) {
      CAPTURE(name);
      const Value v = net.find(name);
      REQUIRE(v != kNoValue);
      CHECK(net.graph().graph[v].dims == dims);
    }
}

void check(const std::vector<Variant>& variants) {
  const auto shared = shared_data();
  if (!shared) {
    MESSAGE("skipped: no golden files (CONVOY_SHARED)");
    return;
  }
  for (const Variant& v : variants) {
    CAPTURE(v.file);
    const auto g = GoldenFile::read(*shared / "golden" / (std::string(v.file) + ".json"));
    check_evaluation(g, v);
    GoldenNetwork net(bench(), g, v.model, v.options, true);
    check_names(g, net);
    check_training_pass(g, v, net);
    check_sgd(g, v, net);
    check_slow_run(g, v.slow, net);
  }
}

}  // namespace

TEST_SUITE("golden") {
  TEST_CASE("the residual networks compute what the golden files say") { check(residual_networks()); }

  TEST_CASE("both forms of AlexNet compute what the golden files say") { check(alexnets()); }

  TEST_CASE("VGG computes what the golden files say") { check(vggs()); }

  TEST_CASE("the Inception networks compute what the golden files say") { check(inceptions()); }
}
