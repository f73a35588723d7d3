#include "small_networks.hpp"

#include "devices.hpp"
#include "train/initial_values.hpp"

#include <convoy/sdk/model.hpp>
#include <convoy/sdk/philox.hpp>

#include <algorithm>
#include <cstring>

namespace convoy::contract {

namespace {

using sdk::Conv;
using sdk::Graph;
using sdk::Model;
using sdk::Pool;
using sdk::Var;

constexpr uint64_t kSeed = 5;
constexpr uint32_t kTimeoutMs = 60'000;

class PlainNet final : public Model {
 public:
  std::pair<Var, Var> build(Graph& g, const ModelSpec& s) override {
    const Var t = labels(g, s);
    Var x = images(g, s);
    Conv first{6, 5, 1, 2};
    first.bias = true;
    x = g.max_pool(g.lrn(g.relu(g.conv(x, "conv1", first))), Pool{3, 2});
    Conv second{9, 3, 1, sdk::Pair(0, 1)};
    second.bias = true;
    x = g.avg_pool(g.relu(g.conv(x, "conv2", second)), Pool{2, 2, 1, true, false});
    x = g.dropout(g.relu(g.fc(g.flatten(x), "fc1", 19)), 0.3);
    const Var logits = g.fc(x, "fc2", s.classes);
    return {g.xent(logits, t), logits};
  }
};

class ResidualNet final : public Model {
 public:
  std::pair<Var, Var> build(Graph& g, const ModelSpec& s) override {
    const Var t = labels(g, s);
    Var x = g.relu(g.bn(g.conv(images(g, s), "stem", {8, 3, 1, 1}), "stem_bn"));
    x = block(g, x, "same", 8, 1, x);
    x = block(g, x, "half", 12, 2, padded_identity(g, x, s.batch));
    const Var projection = g.bn(g.conv(x, "down", {16, 1, 2}), "down_bn");
    x = block(g, x, "project", 16, 2, projection);
    const Var left = g.relu(g.conv(x, "left", {5, sdk::Pair(1, 3), 1, sdk::Pair(0, 1)}));
    const Var right = g.relu(g.conv(x, "right", {7, 1}));
    const Var logits = g.fc(g.gap(g.concat({left, right})), "head", s.classes);
    const Var loss = g.xent(logits, t);
    if (!g.training()) return {loss, logits};
    const Var extra = g.xent(g.fc(g.gap(x), "extra", s.classes), t, "extra_loss");
    return {g.weighted_sum({loss, extra}, {1, 0.3}), logits};
  }

 private:
  static Var block(Graph& g, Var x, const std::string& n, int64_t out, int64_t stride, Var shortcut) {
    Var y = g.relu(g.bn(g.conv(x, n + ".conv1", {out, 3, stride, 1}), n + ".bn1"));
    y = g.bn(g.conv(y, n + ".conv2", {out, 3, 1, 1}), n + ".bn2");
    return g.relu(g.add(y, shortcut));
  }
  /// Subsampled, with channels of zeros before and behind (He 2015, option A).
  static Var padded_identity(Graph& g, Var x, int64_t batch) {
    const Var small = g.avg_pool(x, Pool{1, 2});
    const TensorDesc d = g.shape(small);
    const Var zeros = g.fill({batch, 2, d.dim[2], d.dim[3]}, 0);
    return g.concat({zeros, small, zeros});
  }
};

ModelSpec spec(Network n, bool training) {
  auto s = sdk::sized<ModelSpec>();
  s.batch = kBatch;
  s.channels = n == Network::plain ? 1 : 3;
  s.height = n == Network::plain ? 13 : 10;
  s.width = n == Network::plain ? 11 : 10;
  s.classes = kClasses;
  s.dtype = DType::f32;
  s.training = training ? 1 : 0;
  return s;
}

bool kept(const ir::Tensor& t) {
  return t.alias_of < 0 && (t.role == Role::param || t.role == Role::state || t.role == Role::frozen);
}

}  // namespace

const char* name_of(Network n) { return n == Network::plain ? "plain" : "residual"; }

train::StepGraph make_graph(Network n, bool training) {
  sdk::host_slot() = &host();
  train::StepGraphRequest r;
  r.spec = spec(n, training);
  if (n == Network::plain) {
    r.images.stored = DType::u8;
    r.images.mean.fill(120);
    r.images.stdev.fill(60);
  }
  r.label_smoothing = n == Network::plain ? 0 : 0.1;
  r.optimizer.momentum = 0.9;
  r.optimizer.weight_decay = 1e-3;
  r.optimizer.nesterov = n == Network::plain;
  PlainNet plain;
  ResidualNet residual;
  IModel& model = n == Network::plain ? static_cast<IModel&>(plain) : residual;
  return train::build_step_graph(model, name_of(n), r, host());
}

StepData::StepData(const train::StepGraph& g, uint64_t step) : rng{9, static_cast<int64_t>(step), 0, 0} {
  sdk::Random random(kSeed, sdk::RandomUse::synthetic, static_cast<uint32_t>(step), 0);
  const ir::Tensor& t = g.graph[g.images];
  if (t.dtype == DType::u8) {
    for (int64_t i = 0; i < t.elements(); ++i) images.push_back(static_cast<uint8_t>(random.below(256)));
  } else {
    std::vector<float> values;
    for (int64_t i = 0; i < t.elements(); ++i) values.push_back(random.uniform(-1, 1));
    images.resize(values.size() * sizeof(float));
    std::memcpy(images.data(), values.data(), images.size());
  }
  for (uint32_t i = 0; i < kBatch; ++i) labels.push_back(static_cast<int32_t>(random.below(kClasses)));
  if (step % 2 == 1) labels.back() = -1;
}

DoubleRun::DoubleRun(const train::StepGraph& g, const Named* values) : graph_(g), flat_(g.graph), run_(flat_.view()) {
  for (Value v = 0; v < g.graph.tensors.size(); ++v) {
    const ir::Tensor& t = g.graph[v];
    if (!kept(t)) continue;
    if (values != nullptr) {
      std::copy(values->at(t.name).begin(), values->at(t.name).end(), run_.f(v));
    } else {
      const auto initial = train::initial_values(t, kSeed);
      std::copy(initial.begin(), initial.end(), run_.f(v));
    }
  }
}

StepOutcome DoubleRun::step(const StepData& data) {
  if (graph_.graph[graph_.images].dtype == DType::u8) {
    std::copy(data.images.begin(), data.images.end(), run_.as<uint8_t>(graph_.images));
  } else {
    std::vector<float> values(data.images.size() / sizeof(float));
    std::memcpy(values.data(), data.images.data(), data.images.size());
    std::copy(values.begin(), values.end(), run_.f(graph_.images));
  }
  std::copy(data.labels.begin(), data.labels.end(), run_.as<int32_t>(graph_.labels));
  if (graph_.lr != kNoValue) *run_.f(graph_.lr) = static_cast<double>(data.lr);
  if (graph_.scale != kNoValue) *run_.f(graph_.scale) = static_cast<double>(data.scale);
  if (graph_.rng != kNoValue) std::copy(data.rng.begin(), data.rng.end(), run_.as<int64_t>(graph_.rng));
  run_.run();
  return {*run_.f(graph_.loss), *run_.as<int32_t>(graph_.top1), *run_.as<int32_t>(graph_.top5)};
}

Named DoubleRun::values() {
  Named out;
  for (Value v = 0; v < graph_.graph.tensors.size(); ++v)
    if (kept(graph_.graph[v])) out[graph_.graph[v].name] = run_.copy(v);
  return out;
}

DeviceRun::DeviceRun(const exec::Device& device, const std::string& execution, const train::StepGraph& g,
                     exec::ParameterStore& store)
    : device_(device), graph_(g), stream_(device), done_(device), program_(device, g.graph, store, {execution, false, nullptr}) {}

void DeviceRun::set_initial_values() {
  for (Value v = 0; v < graph_.graph.tensors.size(); ++v)
    if (kept(graph_.graph[v])) program_.import_f32(v, train::initial_values(graph_.graph[v], kSeed), stream_.get());
}

StepOutcome DeviceRun::step(const StepData& data, uint64_t number) {
  const auto write = [&](Value v, const void* p, uint64_t n) {
    if (v != kNoValue) program_.write(v, exec::host_view(p, n), 0, n, stream_.get());
  };
  float loss = 0;
  StepOutcome out;
  const auto read = [&](Value v, void* p) { program_.read(v, exec::host_view(p, 4), 0, 4, stream_.get()); };
  write(graph_.images, data.images.data(), data.images.size());
  write(graph_.labels, data.labels.data(), data.labels.size() * sizeof(int32_t));
  write(graph_.lr, &data.lr, sizeof data.lr);
  write(graph_.scale, &data.scale, sizeof data.scale);
  write(graph_.rng, data.rng.data(), data.rng.size() * sizeof(int64_t));
  program_.run(stream_.get(), number);
  read(graph_.loss, &loss);
  read(graph_.top1, &out.top1);
  read(graph_.top5, &out.top5);
  done_.record(stream_.get());
  if (const Code c = device_.raw().sync(done_.get(), kTimeoutMs); c != Code::ok) device_.check(c, "wait");
  out.loss = static_cast<double>(loss);
  return out;
}

Named DeviceRun::values() {
  Named out;
  for (Value v = 0; v < graph_.graph.tensors.size(); ++v) {
    if (!kept(graph_.graph[v])) continue;
    const auto found = program_.export_f32(v, stream_.get());
    out[graph_.graph[v].name].assign(found.begin(), found.end());
  }
  return out;
}

std::vector<double> DeviceRun::logits() {
  const auto found = program_.export_f32(graph_.logits, stream_.get());
  return {found.begin(), found.end()};
}

}  // namespace convoy::contract
