#include "train/replica.hpp"

#include "error.hpp"
#include "train/initial_values.hpp"
#include "train/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace convoy::train {

namespace {

using experiment::Experiment;
using experiment::Mode;

uint64_t limited(uint64_t samples, int64_t limit) {
  return limit == 0 ? samples : std::min(samples, static_cast<uint64_t>(limit));
}

void check_precision(const Experiment& e, const exec::Device& device) {
  const uint32_t bit = 1u << static_cast<uint32_t>(precision_type(e.device.precision));
  const bool tf32 = e.device.precision != "tf32" || device.info().tf32 != 0;
  if (tf32 && (device.info().dtypes & bit) != 0) return;
  throw Error(ErrorKind::usage, fmt::format("device '{}' does not compute in {}", device.name(), e.device.precision), plugin::kUnsupported)
      .note("fix", "device.precision = \"fp32\"");
}

/// Images of f32 are taken as they are; bytes are normalised with the experiment's values, else the data's own.
ImageSource image_source(const Experiment& e, const DatasetInfo& info) {
  ImageSource out;
  out.stored = info.dtype;
  std::copy(info.mean, info.mean + 4, out.mean.begin());
  std::copy(info.stdev, info.stdev + 4, out.stdev.begin());
  if (e.data.mean.empty()) return out;
  if (info.dtype != DType::u8)
    throw Error(ErrorKind::usage, fmt::format("data.mean is given, but '{}' holds numbers, not bytes, which are not normalised", e.data.use));
  if (e.data.mean.size() != info.channels)
    throw Error(ErrorKind::usage, fmt::format("data.mean has {} values, the images have {} channels", e.data.mean.size(), info.channels));
  for (std::size_t c = 0; c < e.data.mean.size(); ++c) {
    out.mean[c] = static_cast<float>(e.data.mean[c] * 255);
    out.stdev[c] = static_cast<float>(e.data.stdev[c] * 255);
  }
  return out;
}

bool trains(const Experiment& e) { return e.run.mode == Mode::train || (e.run.mode == Mode::benchmark && e.benchmark->pass == "train"); }

}  // namespace

DType precision_type(const std::string& precision) {
  if (precision == "fp16") return DType::f16;
  if (precision == "bf16") return DType::bf16;
  return DType::f32;
}

Replica::Replica(const Experiment& e, plugin::Registry& registry, plugin::Host& host) : registry_(registry), host_(host) {
  if (e.run.mode == Mode::evaluate && e.model.weights.empty())
    throw Error(ErrorKind::usage, "run.mode = \"evaluate\" needs trained weights").note("fix", "[model] weights = \"weights.safetensors\"");
  threads_ = e.device.threads > 0 ? static_cast<uint32_t>(e.device.threads) : std::max(1u, std::thread::hardware_concurrency());
  workers_ = std::make_unique<exec::WorkerPool>(threads_);
  host_.provide(IWorkers::id, static_cast<IWorkers*>(workers_.get()));
  device_ = train::open_device(e, registry_, host_);
  model_ = registry_.create<IModel>(Kind::model, e.model.use, e.model.options, e.model.at);
  open_data(e);
  build(e);
  reset_parameters(e);
}

Replica::~Replica() {
  // In reverse order of creation, as the border promises.
  eval_program_.reset();
  train_program_.reset();
  store_.reset();
  dataset_.reset();
  model_.reset();
  device_.reset();
  host_.provide(IWorkers::id, nullptr);
}

std::unique_ptr<exec::Device> open_device(const Experiment& e, plugin::Registry& registry, plugin::Host& host) {
  const ProbeResult found = registry.probe(Kind::device, e.device.use, e.device.at);
  const int64_t ordinal = e.device.ordinals.empty() ? 0 : e.device.ordinals[0];
  if (found.n_devices > 0 && ordinal >= static_cast<int64_t>(found.n_devices))
    throw Error(ErrorKind::usage, fmt::format("device.ordinals names {}, but {} offers {} devices", ordinal, e.device.use, found.n_devices), "P404")
        .note("fix", fmt::format("0 to {}", found.n_devices - 1));
  auto options = e.device.options;
  options.push_back({"ordinal", ordinal});
  auto device = std::make_unique<exec::Device>(registry.create<IDevice>(Kind::device, e.device.use, options, e.device.at), e.device.use, host);
  check_precision(e, *device);
  return device;
}

void Replica::open_data(const Experiment& e) {
  dataset_ = registry_.create<IDataset>(Kind::dataset, e.data.use, e.data.options, e.data.at);
  auto wanted = sdk::sized<ModelSpec>();
  wanted.height = wanted.width = static_cast<uint32_t>(e.model.image);
  wanted.classes = static_cast<uint32_t>(e.model.classes);
  ModelSpec made_for = wanted;
  host_.check(model_->defaults(&made_for), e.model.use, "say what it was made for");
  data_.dataset = dataset_.get();
  data_.name = e.data.use;
  data_.host = &host_;
  data_.info.struct_size = sizeof data_.info;
  host_.check(dataset_->open(wanted, made_for, &data_.info), e.data.use, "open the data");

  const DatasetInfo& info = data_.info;
  spec_ = made_for;
  spec_.batch = static_cast<uint32_t>(e.data.batch);
  spec_.channels = info.channels;
  spec_.height = info.height;
  spec_.width = info.width;
  spec_.classes = wanted.classes != 0 ? wanted.classes : info.classes;
  spec_.dtype = DType::f32;
  if (spec_.classes < info.classes)
    throw Error(ErrorKind::usage, fmt::format("model.classes = {}, but '{}' has labels of {} classes", spec_.classes, e.data.use, info.classes));
  images_ = image_source(e, info);
  train_samples_ = limited(info.train, e.data.train_limit);
  eval_samples_ = limited(info.eval, e.data.eval_limit);
  if (trains(e) && train_samples_ == 0)
    throw Error(ErrorKind::data, fmt::format("'{}' has no training samples", e.data.use));
  if (e.run.mode != Mode::train && !trains(e) && eval_samples_ == 0)
    throw Error(ErrorKind::data, fmt::format("'{}' has no held-out samples", e.data.use));
}

StepGraphRequest step_request(const Experiment& e, const ModelSpec& spec, const ImageSource& images, bool training) {
  StepGraphRequest request;
  request.spec = spec;
  request.spec.training = training ? 1 : 0;
  request.images = images;
  request.label_smoothing = e.run.label_smoothing;
  request.optimizer = {e.optimizer.momentum, e.optimizer.dampening, e.optimizer.weight_decay, e.optimizer.nesterov};
  return request;
}

void Replica::build(const Experiment& e) {
  store_ = std::make_unique<exec::ParameterStore>(*device_);
  const exec::ProgramOptions options{e.device.execution, e.device.deterministic, nullptr};
  const auto make = [&](bool training, StepGraph& graph) {
    graph = build_step_graph(*model_, e.model.use, step_request(e, spec_, images_, training), host_);
    return std::make_unique<exec::Program>(*device_, graph.graph, *store_, options);
  };
  if (trains(e)) train_program_ = make(true, train_graph_);
  if (e.run.mode == Mode::benchmark ? !trains(e) : eval_samples_ > 0) eval_program_ = make(false, eval_graph_);
}

void fill_parameters(exec::Program& program, const ir::Graph& graph, const Experiment& e, Stream stream) {
  const bool load = !e.model.weights.empty();
  for (Value v = 0; v < graph.tensors.size(); ++v) {
    const ir::Tensor& t = graph[v];
    const bool kept = t.role == Role::param || t.role == Role::state || t.role == Role::frozen;
    const bool optimizer_state = t.name.find(':') != std::string::npos;
    if (kept && t.alias_of < 0 && (!load || optimizer_state))
      program.import_f32(v, initial_values(t, static_cast<uint64_t>(e.run.seed)), stream);
  }
  if (load) load_weights(e.model.weights, program, stream);
}

void Replica::reset_parameters(const Experiment& e) {
  exec::DeviceStream stream(*device_);
  fill_parameters(weights_program(), (train_program_ ? train_graph_ : eval_graph_).graph, e, stream.get());
}

uint64_t Replica::device_bytes() const {
  uint64_t bytes = store_->bytes();
  for (const auto* p : {train_program_.get(), eval_program_.get()})
    if (p != nullptr) bytes += p->device_bytes();
  return bytes;
}

}  // namespace convoy::train
