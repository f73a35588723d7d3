#include "train/small_instance.hpp"

#include "error.hpp"
#include "train/fixed_batch.hpp"

#include <algorithm>

namespace convoy::train {

namespace {

using experiment::Experiment;

constexpr uint32_t kSides[] = {64, 96, 128, 160};  // pixels
constexpr uint32_t kBatch = 2;
constexpr int64_t kFewestNormalised = 16;
constexpr int kSettlingSteps = 25;  // 0.9^25: 7 % of where the statistics began is left

bool is_statistic(const ir::Tensor& t) { return t.role == Role::state && t.alias_of < 0 && t.name.find(':') == std::string::npos; }

/// Fewest values that one channel is normalised over; of two values nothing but their order would be left.
bool normalises_over_enough(const ir::Graph& g) {
  return std::all_of(g.nodes.begin(), g.nodes.end(), [&](const ir::Node& n) {
    if (n.op != Op::batch_norm) return true;
    const ir::Tensor& x = g[n.in[0]];
    return x.elements() / x.dims[1] >= kFewestNormalised;
  });
}

}  // namespace

SmallNetwork build_small(IModel& model, const Experiment& e, plugin::Host& host, bool training) {
  ModelSpec wanted = sdk::sized<ModelSpec>();
  wanted.classes = static_cast<uint32_t>(e.model.classes);
  host.check(model.defaults(&wanted), e.model.use, "say what it was made for");
  const uint32_t full = e.model.image != 0 ? static_cast<uint32_t>(e.model.image) : wanted.height;
  wanted.batch = kBatch;
  wanted.dtype = DType::f32;
  const auto build = [&](uint32_t side) {
    SmallNetwork out{wanted, {}};
    out.spec.height = out.spec.width = side;
    out.graph = build_step_graph(model, e.model.use, step_request(e, out.spec, {}, training), host);
    return out;
  };
  for (const uint32_t side : kSides) {
    if (side >= full) break;
    try {
      SmallNetwork out = build(side);
      if (normalises_over_enough(out.graph.graph)) return out;
    } catch (const Error&) {
      // The network needs larger pictures: the next size.
    }
  }
  return build(full);
}

NamedValues settled_statistics(const Experiment& e, plugin::Registry& registry, plugin::Host& host) {
  if (!e.model.weights.empty()) return {};
  Experiment own = e;
  own.device.precision = "fp32";
  const auto model = registry.create<IModel>(Kind::model, e.model.use, e.model.options, e.model.at);
  const SmallNetwork small = build_small(*model, own, host, true);
  const ir::Graph& graph = small.graph.graph;
  if (std::none_of(graph.tensors.begin(), graph.tensors.end(), is_statistic)) return {};
  const auto device = open_device(own, registry, host);
  exec::ParameterStore store(*device);
  exec::Program program(*device, graph, store, {e.device.execution, e.device.deterministic, nullptr});
  {
    exec::DeviceStream stream(*device);
    fill_parameters(program, graph, own, stream.get());
  }
  const RandomBatch data(small.spec, static_cast<uint64_t>(e.run.seed));
  FixedBatch batch(*device, program, small.graph, data.batch(), static_cast<uint64_t>(e.run.seed));
  for (int i = 0; i < kSettlingSteps; ++i) batch.step(0);
  NamedValues out;
  for (Value v = 0; v < graph.tensors.size(); ++v)
    if (is_statistic(graph[v])) out[graph[v].name] = batch.values(v);
  return out;
}

void set_statistics(exec::Program& program, const ir::Graph& graph, const NamedValues& statistics, const exec::Device& device) {
  exec::DeviceStream stream(device);
  for (Value v = 0; v < graph.tensors.size(); ++v)
    if (const auto found = statistics.find(graph[v].name); is_statistic(graph[v]) && found != statistics.end()) program.import_f32(v, found->second, stream.get());
  program.refresh(stream.get());
}

}  // namespace convoy::train
