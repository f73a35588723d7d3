// A developer's stop-watch: compiles one network on the cuda backend and times its steps on resident random data.
//   cuda_step_time MODEL [option=value ...] [batch=32 image=224 precision=bf16 pass=train steps=50 device.KEY=VALUE ...]
// Not a benchmark of the product (`mode = "benchmark"` of the runner is): no gate, no data, one network a call.
#include "exec/program.hpp"
#include "experiment/schema.hpp"
#include "plugin/registry.hpp"
#include "record/log.hpp"
#include "train/initial_values.hpp"
#include "train/step_graph.hpp"

#include <convoy/sdk/philox.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>

using namespace convoy;

namespace {

constexpr uint32_t kTimeoutMs = 600'000;
constexpr int kWarmUp = 10;

using Words = std::map<std::string, std::string>;

std::string word(const Words& words, const std::string& key, const std::string& otherwise) {
  const auto found = words.find(key);
  return found == words.end() ? otherwise : found->second;
}

/// A schema's options with those of `words` that begin with `prefix` in place of the defaults.
experiment::OptionList options_of(const std::string& schema, const std::string& who, const Words& words, const std::string& prefix) {
  experiment::OptionList out;
  for (const auto& rule : experiment::parse_schema(schema, who)) {
    experiment::OptionValue value{rule.key, *rule.otherwise};
    if (const auto found = words.find(prefix + rule.key); found != words.end()) {
      if (std::holds_alternative<bool>(value.value)) value.value = found->second == "true";
      else if (std::holds_alternative<int64_t>(value.value)) value.value = int64_t{std::stoll(found->second)};
      else if (std::holds_alternative<std::string>(value.value)) value.value = found->second;
    }
    out.push_back(value);
  }
  return out;
}

struct Bench {
  Bench(const std::string& model_name, const Words& words)
      : registry(host, plugin::make_search_path({CONVOY_BUILD_DIR "/lib/convoy/plugins"}, nullptr, "/proc/self/exe"), 1) {
    sdk::host_slot() = &host;
    experiment::OptionList device_options = options_of(registry.options_schema(Kind::device, "cuda"), "cuda", words, "device.");
    device_options.push_back({"ordinal", int64_t{0}});
    device_options.push_back({"precision", word(words, "precision", "bf16")});
    device = std::make_unique<exec::Device>(registry.create<IDevice>(Kind::device, "cuda", device_options), "cuda", host);
    model = registry.create<IModel>(Kind::model, model_name, options_of(registry.options_schema(Kind::model, model_name), model_name, words, ""));
    const auto batch = static_cast<uint32_t>(std::stoul(word(words, "batch", "32"))), side = static_cast<uint32_t>(std::stoul(word(words, "image", "224")));
    train::StepGraphRequest request;
    training = word(words, "pass", "train") == "train";
    request.spec = {sizeof(ModelSpec), batch, 3, side, side, 1000, DType::f32, training ? 1u : 0u};
    request.images.stored = word(words, "stored", "f32") == "u8" ? DType::u8 : DType::f32;
    request.optimizer = {0.9, 0, 1e-4, false};
    graph = train::build_step_graph(*model, model_name, request, host);
    store = std::make_unique<exec::ParameterStore>(*device);
    stream = std::make_unique<exec::DeviceStream>(*device);
    program = std::make_unique<exec::Program>(*device, graph.graph, *store, exec::ProgramOptions{});
  }

  void wait() {
    exec::DeviceEvent done(*device);
    done.record(stream->get());
    done.sync(kTimeoutMs);
  }
  void write(Value v, const void* data, uint64_t bytes) {
    program->write(v, exec::host_view(data, bytes), 0, bytes, stream->get());
    wait();
  }
  void fill() {
    for (Value v = 0; v < graph.graph.tensors.size(); ++v) {
      const ir::Tensor& t = graph.graph[v];
      const bool kept = t.role == Role::param || t.role == Role::state || t.role == Role::frozen;
      if (kept && t.alias_of < 0) program->import_f32(v, train::initial_values(t, 1), stream->get());
    }
    sdk::Random random(1, sdk::RandomUse::synthetic, 0, 0);
    const auto pixels = static_cast<std::size_t>(graph.graph[graph.images].elements());
    if (graph.graph[graph.images].dtype == DType::u8) {
      std::vector<uint8_t> images(pixels);
      for (auto& x : images) x = static_cast<uint8_t>(random.below(256));
      write(graph.images, images.data(), pixels);
    } else {
      std::vector<float> images(pixels);
      for (auto& x : images) x = static_cast<float>(random.uniform(-1.7f, 1.7f));
      write(graph.images, images.data(), pixels * 4);
    }
    std::vector<int32_t> labels(static_cast<std::size_t>(graph.graph[graph.labels].elements()));
    for (auto& x : labels) x = static_cast<int32_t>(random.below(1000));
    write(graph.labels, labels.data(), labels.size() * 4);
    const float one = 1, lr = 0.01f;
    const int64_t rng[4] = {1, 0, 0, 0};
    if (graph.scale != kNoValue) write(graph.scale, &one, 4);
    if (graph.lr != kNoValue) write(graph.lr, &lr, 4);
    if (graph.rng != kNoValue) write(graph.rng, rng, sizeof rng);
    program->refresh(stream->get());
  }
  double loss() { return static_cast<double>(program->export_f32(graph.loss, stream->get())[0]); }

  record::ProgramLog log{record::LogLevel::info};
  plugin::Host host{log};
  plugin::Registry registry;
  std::unique_ptr<exec::Device> device;
  Owned<IModel> model;
  train::StepGraph graph;
  bool training = true;
  std::unique_ptr<exec::ParameterStore> store;
  std::unique_ptr<exec::DeviceStream> stream;
  std::unique_ptr<exec::Program> program;
};

int run(const std::string& model, const Words& words) {
  const auto begin = std::chrono::steady_clock::now();
  Bench b(model, words);
  b.fill();
  const double compile_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  uint64_t step = 0;
  b.program->run(b.stream->get(), step++);
  b.wait();
  const double first = b.loss();
  for (int i = 0; i < kWarmUp; ++i) b.program->run(b.stream->get(), step++);
  b.wait();
  const int steps = std::stoi(word(words, "steps", "50"));
  std::vector<std::unique_ptr<exec::DeviceEvent>> marks;
  for (int i = 0; i <= steps; ++i) marks.push_back(std::make_unique<exec::DeviceEvent>(*b.device, true));
  marks[0]->record(b.stream->get());
  for (int i = 0; i < steps; ++i) {
    b.program->run(b.stream->get(), step++);
    marks[static_cast<std::size_t>(i) + 1]->record(b.stream->get());
  }
  b.wait();
  std::vector<double> us(static_cast<std::size_t>(steps));
  for (std::size_t i = 0; i < us.size(); ++i)
    b.device->check(b.device->raw().elapsed_us(marks[i]->get(), marks[i + 1]->get(), &us[i]), "time a step");
  std::sort(us.begin(), us.end());
  const double median = us[us.size() / 2], batch = std::stod(word(words, "batch", "32"));
  fmt::print("{} {} {} b{}: {:.0f} img/s, {:.1f} us (p10 {:.1f}, p90 {:.1f}), loss {:.4f} > {:.4f}, memory {:.2f} GiB (arena {:.2f}), {} steps, start {:.1f} s\n", model,
             word(words, "pass", "train"), word(words, "precision", "bf16"), static_cast<int>(batch), batch / median * 1e6, median, us[us.size() / 10],
             us[us.size() * 9 / 10], first, b.loss(), static_cast<double>(b.program->device_bytes() + b.store->bytes()) / (1 << 30),
             static_cast<double>(b.program->memory().arena_bytes) / (1 << 30), b.program->memory().n_kernels, compile_s);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "cuda_step_time MODEL [option=value ...] [batch= image= precision= pass= steps= stored= device.KEY=]\n");
    return 2;
  }
  Words words;
  for (int i = 2; i < argc; ++i) {
    const std::string text = argv[i];
    const auto at = text.find('=');
    words[text.substr(0, at)] = at == std::string::npos ? "true" : text.substr(at + 1);
  }
  try {
    return run(argv[1], words);
  } catch (const Error& e) {
    fmt::print(stderr, "{}\n", e.render());
    return 1;
  }
}
