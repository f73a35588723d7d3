#include "train/gate.hpp"

#include "record/statistics.hpp"
#include "train/fixed_batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

namespace convoy::train {

namespace {

using experiment::Experiment;
using Values = std::vector<float>;

constexpr uint32_t kUnfusedImages = 2;  // of the unfused evaluation, which keeps every intermediate value
constexpr double kSlopeParts[] = {0.0025, 0.0006, 0.01, 0.04};  // changes of the loss that are tried: large enough to be seen above rounding, small enough to be straight
constexpr double kLossFactor = 10;      // of a logit's tolerance: batch normalisation with the statistics of a few pictures magnifies rounding
constexpr double kMaterial = 1e-6;      // an update below this part of the parameter may round away

double norm(const Values& v) {
  double sum = 0;
  for (const float x : v) sum += static_cast<double>(x) * static_cast<double>(x);
  return std::sqrt(sum);
}

double distance(const Values& a, const Values& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    sum += d * d;
  }
  return std::sqrt(sum);
}

float largest(const Values& v) {
  return std::accumulate(v.begin(), v.end(), 0.0f, [](float m, float x) { return std::max(m, std::fabs(x)); });
}

void need_finite(const Values& v, const std::string& what) {
  if (!std::all_of(v.begin(), v.end(), [](float x) { return std::isfinite(x); })) throw GateFailed(what + " is not finite");
}

double finite_loss(double loss) {
  if (!std::isfinite(loss)) throw GateFailed(fmt::format("the loss is not finite ({})", loss));
  return loss;
}

void need_gradient_of_each(const StepGraph& g) {
  for (Value v = 0; v < g.graph.tensors.size(); ++v) {
    const ir::Tensor& t = g.graph[v];
    if (t.role != Role::param || t.alias_of >= 0) continue;
    const auto& pairs = g.gradients.pairs;
    if (std::none_of(pairs.begin(), pairs.end(), [&](const auto& p) { return p.first == v; }))
      throw GateFailed(fmt::format("parameter '{}' has no gradient: the loss does not depend on it", t.name));
  }
}

/// Parameters and gradients of one step with learning rate 0.
class Slope {
 public:
  Slope(FixedBatch& batch, const StepGraph& g) : batch_(batch), graph_(g), loss_(finite_loss(batch.step(0))) {
    for (const auto& [param, grad] : g.gradients.pairs) {
      parameters_.push_back(batch.values(param));
      gradients_.push_back(batch.values(grad));
      need_finite(gradients_.back(), fmt::format("the gradient of '{}'", g.graph[param].name));
      square_ += std::pow(norm(gradients_.back()), 2);
    }
    if (square_ == 0) throw GateFailed("every gradient is zero");
  }

  /// How far the loss's slope along the gradient is from what the gradient says, relative; the parameters are as before.
  double error(double tolerance) {
    double best = INFINITY;
    for (const double part : kSlopeParts) {
      const double eta = part * std::max(std::fabs(loss_), 0.1) / square_;
      const double measured = (loss_at(eta) - loss_at(-eta)) / (2 * eta);
      best = std::min(best, std::fabs(measured / square_ - 1));
      if (best <= tolerance) break;
    }
    move(0);
    return best;
  }

  /// A step with learning rate: every parameter whose update is not rounding must have changed.
  void need_change(float lr) {
    batch_.step(lr);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Value param = graph_.gradients.pairs[i].first;
      const bool material = lr * largest(gradients_[i]) > static_cast<float>(kMaterial) * largest(parameters_[i]);
      if (material && batch_.values(param) == parameters_[i])
        throw GateFailed(fmt::format("parameter '{}' did not change in a step, though it has a gradient", graph_.graph[param].name));
    }
  }

 private:
  double loss_at(double eta) {
    move(eta);
    return finite_loss(batch_.step(0));
  }
  void move(double eta) {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      Values moved = parameters_[i];
      for (std::size_t k = 0; k < moved.size(); ++k) moved[k] += static_cast<float>(eta) * gradients_[i][k];
      batch_.set_values(graph_.gradients.pairs[i].first, moved);
    }
    batch_.refresh();
  }

  FixedBatch& batch_;
  const StepGraph& graph_;
  double loss_;
  double square_ = 0;
  std::vector<Values> parameters_, gradients_;
};

float gate_lr(const Experiment& e) { return static_cast<float>(e.optimizer.lr > 0 ? e.optimizer.lr : 0.1); }

/// Every intermediate value becomes an output: a backend has to keep it as it is.
void keep_everything(StepGraph& g) {
  for (const ir::Node& n : g.graph.nodes)
    for (const Value v : n.out)
      if (v != kNoValue && g.graph[v].role == Role::activation) {
        g.graph[v].role = Role::output;
        g.graph[v].name = fmt::format("kept:{}", v);
      }
}

double logits_error(const Values& found, const Values& expected, const std::string& what, double tolerance) {
  need_finite(found, "a logit");
  const double error = distance(found, expected) / std::max(norm(expected), 1e-30);
  if (!(error <= tolerance)) throw GateFailed(fmt::format("logits differ from {} by {:.2g} (relative; {:.2g} is allowed)", what, error, tolerance));
  return error;
}

// ---- the small instance ----------------------------------------------------------------------------------------------

/// The small instance on one device.
struct Instance {
  Instance(const exec::Device& device, const StepGraph& g, const Experiment& e, const std::string& execution, const Batch& data, const NamedValues& statistics)
      : graph(g), store(device), program(device, g.graph, store, {execution, e.device.deterministic, nullptr}) {
    {
      exec::DeviceStream stream(device);
      fill_parameters(program, g.graph, e, stream.get());
    }
    set_statistics(program, g.graph, statistics, device);
    batch.emplace(device, program, g, data, static_cast<uint64_t>(e.run.seed));
    for (const auto& pair : g.gradients.pairs) before.push_back(batch->values(pair.first));
    loss = finite_loss(batch->step(gate_lr(e)));
  }
  Values update(std::size_t i) const {
    Values out = batch->values(graph.gradients.pairs[i].first);
    for (std::size_t k = 0; k < out.size(); ++k) out[k] -= before[i][k];
    return out;
  }

  const StepGraph& graph;
  exec::ParameterStore store;
  exec::Program program;
  std::optional<FixedBatch> batch;
  std::vector<Values> before;
  double loss = 0;
};

/// Relative errors over parameters of one kind of value.
class Errors {
 public:
  Errors(const char* what, const GateTolerance& tolerance, const std::string& oracle) : what_(what), tolerance_(tolerance), oracle_(oracle) {}
  void add(const std::string& name, const Values& found, const Values& expected) {
    need_finite(found, fmt::format("the {} of '{}'", what_, name));
    rows_.push_back({name, distance(found, expected), norm(expected)});
    square_ += rows_.back().norm * rows_.back().norm;
  }
  /// The median. Throws where it, or any one of them, is too large.
  double typical() const {
    std::vector<double> errors;
    for (const Row& r : rows_) {
      errors.push_back(r.distance / std::max(r.norm + tolerance_.floor / tolerance_.each * std::sqrt(square_), 1e-30));
      if (!(errors.back() <= tolerance_.each)) refuse(r.name, errors.back(), tolerance_.each);
    }
    const double typical = record::median(errors);
    if (!(typical <= tolerance_.typical)) refuse("a typical parameter", typical, tolerance_.typical);
    return typical;
  }

 private:
  struct Row {
    std::string name;
    double distance, norm;
  };
  [[noreturn]] void refuse(const std::string& whose, double error, double allowed) const {
    throw GateFailed(fmt::format("the {} of '{}' differs from {}'s by {:.2g} (relative; {:.2g} is allowed)", what_, whose, oracle_, error, allowed));
  }
  const char* what_;
  const GateTolerance& tolerance_;
  const std::string& oracle_;
  double square_ = 0;
  std::vector<Row> rows_;
};

std::string compare_training(const Instance& found, const Instance& expected, const GateTolerance& tolerance, const std::string& oracle) {
  if (!(std::fabs(found.loss - expected.loss) <= kLossFactor * tolerance.logits * std::max(1.0, std::fabs(expected.loss))))
    throw GateFailed(fmt::format("the loss of a small instance is {:.6g}, {}'s is {:.6g}", found.loss, oracle, expected.loss));
  Errors gradients("gradient", tolerance, oracle), updates("update", tolerance, oracle);
  for (std::size_t i = 0; i < found.graph.gradients.pairs.size(); ++i) {
    const auto [param, grad] = found.graph.gradients.pairs[i];
    const std::string& name = found.graph.graph[param].name;
    gradients.add(name, found.batch->values(grad), expected.batch->values(expected.graph.gradients.pairs[i].second));
    updates.add(name, found.update(i), expected.update(i));
  }
  const double g = gradients.typical();
  return fmt::format("gradients within {:.1g} of {}, updates {:.1g}", g, oracle, updates.typical());
}

}  // namespace

GateTolerance gate_tolerance(const std::string& precision, const ir::Graph& graph) {
  const auto normalises = [](const ir::Node& n) { return n.op == Op::batch_norm; };
  const bool magnified = std::any_of(graph.nodes.begin(), graph.nodes.end(), normalises);
  if (precision == "fp32") return magnified ? GateTolerance{0.2, 0.2, 0.5, 1e-5, 1e-4} : GateTolerance{0.05, 1e-3, 2e-2, 1e-6, 1e-4};
  if (precision == "tf32") return {0.2, 0.3, 0.7, 1e-3, 1e-2};
  return {0.3, 0.4, 0.8, 1e-2, 5e-2};
}

std::string check_training(const Experiment& e, Replica& replica) {
  const Runnable train = replica.train();
  need_gradient_of_each(*train.graph);
  const FirstBatch data(replica.device(), replica.data(), Split::train, replica.spec().batch, replica.train_samples(), static_cast<uint64_t>(e.run.seed));
  const double tolerance = gate_tolerance(e.device.precision, train.graph->graph).slope;
  double error = 0;
  {
    FixedBatch batch(replica.device(), *train.program, *train.graph, data.batch(), static_cast<uint64_t>(e.run.seed));
    Slope slope(batch, *train.graph);
    error = slope.error(tolerance);
    if (!(error <= tolerance))
      throw GateFailed(fmt::format("along its gradient the loss changes otherwise than the gradient says: off by {:.1f} % ({:.0f} % is allowed)", 100 * error, 100 * tolerance));
    slope.need_change(gate_lr(e));
  }
  replica.reset_parameters(e);
  return fmt::format("slope within {:.1g} %", 100 * error);
}

std::string check_inference(const Experiment& e, Replica& replica, const NamedValues& statistics, plugin::Host& host) {
  const Runnable eval = replica.eval();
  const auto seed = static_cast<uint64_t>(e.run.seed);
  const FirstBatch data(replica.device(), replica.data(), Split::eval, replica.spec().batch, replica.eval_samples(), seed);
  FixedBatch fused(replica.device(), *eval.program, *eval.graph, data.batch(), seed);
  fused.step(0);
  Values found = fused.logits();
  need_finite(found, "a logit");
  ModelSpec spec = replica.spec();
  spec.batch = std::min(spec.batch, kUnfusedImages);
  StepGraph graph = build_step_graph(replica.model(), e.model.use, step_request(e, spec, replica.images(), false), host);
  keep_everything(graph);
  exec::ParameterStore store(replica.device());
  exec::Program program(replica.device(), graph.graph, store, {e.device.execution, e.device.deterministic, nullptr});
  {
    exec::DeviceStream stream(replica.device());
    fill_parameters(program, graph.graph, e, stream.get());
  }
  set_statistics(program, graph.graph, statistics, replica.device());
  FixedBatch unfused(replica.device(), program, graph, data.batch(), seed);
  unfused.step(0);
  found.resize(std::size_t{spec.batch} * spec.classes);
  const double error = logits_error(found, unfused.logits(), "the unfused evaluation", gate_tolerance(e.device.precision, graph.graph).logits);
  return fmt::format("logits within {:.1g} of unfused", error);
}

std::string check_against(const std::string& oracle, const Experiment& e, const NamedValues& statistics, plugin::Registry& registry, plugin::Host& host) {
  const bool training = e.benchmark->pass == "train";
  const auto model = registry.create<IModel>(Kind::model, e.model.use, e.model.options, e.model.at);
  Experiment own = e;
  own.model.weights.clear();  // they may not fit this size
  Experiment other = own;
  other.device = {};  // in fp32
  other.device.use = oracle;
  const SmallNetwork network = build_small(*model, own, host, training), other_network = build_small(*model, other, host, training);
  const RandomBatch data(network.spec, static_cast<uint64_t>(e.run.seed));
  const auto device = open_device(own, registry, host), other_device = open_device(other, registry, host);
  const Instance found(*device, network.graph, own, own.device.execution, data.batch(), statistics);
  const Instance expected(*other_device, other_network.graph, other, "", data.batch(), statistics);
  const GateTolerance tolerance = gate_tolerance(e.device.precision, network.graph.graph);
  if (training) return compare_training(found, expected, tolerance, oracle);
  return fmt::format("logits within {:.1g} of {}", logits_error(found.batch->logits(), expected.batch->logits(), oracle, tolerance.logits), oracle);
}

}  // namespace convoy::train
