#include "golden_network.hpp"

#include "fill.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace convoy::testing {

namespace {

constexpr uint32_t kTimeoutMs = 600'000;

plugin::SearchPath build_plugins() {
  return plugin::make_search_path({CONVOY_BUILD_DIR "/lib/convoy/plugins"}, nullptr, "/proc/self/exe");
}

/// The fill rule's range of a parameter or buffer.
std::pair<double, double> range_of(const ir::Tensor& t, const GoldenFile& g) {
  const bool vector = t.dims.size() == 1;
  if (t.name.ends_with(".running_mean")) return {-0.1, 0.1};
  if (t.name.ends_with(".running_var")) return {0.8, 1.2};
  if (!vector) {
    const double fan_in = static_cast<double>(t.elements()) / static_cast<double>(t.dims[0]);
    return {-std::sqrt(6 / fan_in), std::sqrt(6 / fan_in)};
  }
  if (t.name.ends_with(".weight")) return *g.bn_gamma;
  // A bias: of a BatchNorm where running statistics of the same name exist.
  const std::string mean = t.name.substr(0, t.name.rfind('.')) + ".running_mean";
  const bool norm = std::any_of(g.buffers.begin(), g.buffers.end(), [&](const auto& b) { return b.first == mean; });
  return norm ? std::pair(-0.1, 0.1) : std::pair(-0.05, 0.05);
}

std::vector<float> filled(const ir::Tensor& t, const GoldenFile& g) {
  if (t.name.find(':') != std::string::npos) return std::vector<float>(static_cast<std::size_t>(t.elements()), 0.0f);
  if (t.role == Role::frozen) return std::vector<float>(static_cast<std::size_t>(t.elements()), 1.0f);
  const auto [lo, hi] = range_of(t, g);
  return testing::fill(t.name, static_cast<uint64_t>(t.elements()), lo, hi);
}

}  // namespace

std::string device_under_test() {
  const char* named = std::getenv("CONVOY_TEST_DEVICE");
  return named == nullptr ? "cpu" : named;
}

GoldenBench::GoldenBench(const std::string& name) : host_(log_), registry_(host_, build_plugins(), 1) {
  sdk::host_slot() = &host_;
  workers_ = std::make_unique<exec::WorkerPool>(std::max(1u, std::thread::hardware_concurrency()));
  host_.provide(IWorkers::id, static_cast<IWorkers*>(workers_.get()));
  experiment::OptionList options = experiment::check_options(experiment::parse_schema(registry_.options_schema(Kind::device, name), name), {}, "device", {});
  options.push_back({"ordinal", int64_t{0}});
  // Bounds here are for fp32: with another precision the figures that the tests print are what one wants.
  if (const char* precision = std::getenv("CONVOY_TEST_PRECISION")) options.push_back({"precision", std::string(precision)});
  device_ = std::make_unique<exec::Device>(registry_.create<IDevice>(Kind::device, name, options), name, host_);
}

GoldenNetwork::GoldenNetwork(GoldenBench& bench, const GoldenFile& golden, const std::string& model, const experiment::OptionList& options, bool training)
    : bench_(bench), golden_(golden), store_(bench.device()), stream_(bench.device()) {
  const auto schema = experiment::parse_schema(bench.registry().options_schema(Kind::model, model), model);
  experiment::OptionList all;
  for (const auto& rule : schema) {
    const auto* given = experiment::find_option(options, rule.key);
    all.push_back(given != nullptr ? *given : experiment::OptionValue{rule.key, *rule.otherwise});
  }
  model_ = bench.registry().create<IModel>(Kind::model, model, all);
  train::StepGraphRequest request;
  request.spec = {sizeof(ModelSpec), golden.batch, 3, golden.resolution, golden.resolution, 1000, DType::f32, training ? 1u : 0u};
  request.optimizer = {golden.momentum, 0, golden.weight_decay, false};
  graph_ = train::build_step_graph(*model_, model, request, bench.host());
  program_ = std::make_unique<exec::Program>(bench.device(), graph_.graph, store_, exec::ProgramOptions{});
}

Value GoldenNetwork::find(const std::string& name) const {
  for (Value v = 0; v < graph_.graph.tensors.size(); ++v) {
    const ir::Tensor& t = graph_.graph[v];
    if (ir::is_boundary(t.role) && t.alias_of < 0 && t.name == name) return v;
  }
  return kNoValue;
}

void GoldenNetwork::write(Value v, const void* data, uint64_t bytes) {
  program_->write(v, exec::host_view(data, bytes), 0, bytes, stream_.get());
  exec::DeviceEvent done(bench_.device());
  done.record(stream_.get());
  done.sync(kTimeoutMs);
}

void GoldenNetwork::fill() {
  for (Value v = 0; v < graph_.graph.tensors.size(); ++v) {
    const ir::Tensor& t = graph_.graph[v];
    const bool kept = t.role == Role::param || t.role == Role::state || t.role == Role::frozen;
    if (kept && t.alias_of < 0) program_->import_f32(v, filled(t, golden_), stream_.get());
  }
  const uint64_t pixels = uint64_t{golden_.batch} * 3 * golden_.resolution * golden_.resolution;
  const auto images = testing::fill("images", pixels, -std::sqrt(3.0), std::sqrt(3.0));
  write(graph_.images, images.data(), pixels * sizeof(float));
  write(graph_.labels, golden_.labels.data(), golden_.labels.size() * sizeof(int32_t));
  program_->refresh(stream_.get());
}

void GoldenNetwork::set_scalars(float lr) {
  const float one = 1;
  write(graph_.scale, &one, sizeof one);
  write(graph_.lr, &lr, sizeof lr);
}

void GoldenNetwork::run() {
  program_->run(stream_.get(), step_++);
  exec::DeviceEvent done(bench_.device());
  done.record(stream_.get());
  done.sync(kTimeoutMs);
}

float GoldenNetwork::scalar(Value v) { return values(v)[0]; }

std::vector<float> GoldenNetwork::values(Value v) { return program_->export_f32(v, stream_.get()); }

}  // namespace convoy::testing
