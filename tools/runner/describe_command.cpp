#include "runner/describe_command.hpp"

#include "experiment/variant.hpp"
#include "ir/cost.hpp"
#include "ir/layer_table.hpp"
#include "ir/op_rule.hpp"
#include "runner/arguments.hpp"
#include "runner/environment.hpp"
#include "train/step_graph.hpp"

#include <nlohmann/json.hpp>

#include <fmt/format.h>

namespace convoy::runner {

namespace {

using Json = nlohmann::ordered_json;

/// Both forms of one network, for one image: parameters and layers are those of training, where an auxiliary head is
/// part of it; multiply-adds are stated for both.
struct Described {
  std::string model, variant;
  ModelSpec spec{};
  std::vector<ir::Layer> layers;
  ir::Cost training, inference;
  int64_t gradient_bytes = 0, activation_bytes = 0;
};

experiment::ModelChoice read_choice(const DescribeArguments& a, Environment& environment) {
  experiment::ConfigTable config;
  experiment::apply_override(config, "model.use=\"" + a.model + "\"");
  for (const auto& s : a.set) experiment::apply_override(config, s.starts_with("model.") ? s : "model." + s);
  RegistrySchemas schemas(environment);
  return experiment::make_model_choice(config, schemas);
}

Described describe(const experiment::ModelChoice& choice, Environment& environment) {
  const auto model = environment.registry().create<IModel>(Kind::model, choice.use, choice.options, choice.at);
  Described d;
  d.model = choice.use;
  d.variant = experiment::variant_text(choice);
  d.spec = sdk::sized<ModelSpec>();
  d.spec.height = d.spec.width = static_cast<uint32_t>(choice.image);
  d.spec.classes = static_cast<uint32_t>(choice.classes);
  environment.host().check(model->defaults(&d.spec), choice.use, "say what it was made for");
  train::StepGraphRequest request;
  request.spec = d.spec;
  request.spec.batch = 1;
  request.spec.dtype = DType::f32;
  d.inference = ir::cost_of(train::build_step_graph(*model, choice.use, request, environment.host()).graph);
  request.spec.training = 1;
  const auto step = train::build_step_graph(*model, choice.use, request, environment.host());
  d.training = ir::cost_of(step.graph);
  d.layers = ir::layer_table(step.graph);
  for (const auto& l : d.layers) d.activation_bytes += l.activation_bytes;
  d.gradient_bytes = d.training.trainable * static_cast<int64_t>(sizeof(float));
  return d;
}

Json to_json(const Described& d) {
  Json layers = Json::array();
  for (const auto& l : d.layers)
    layers.push_back({{"name", l.name}, {"op", l.op}, {"output", l.output}, {"parameters", l.parameters}, {"macs", l.macs},
                      {"activation_bytes", l.activation_bytes}, {"gradient_bytes", l.gradient_bytes}});
  return {{"model", d.model},
          {"variant", d.variant},
          {"input", {d.spec.channels, d.spec.height, d.spec.width}},
          {"classes", d.spec.classes},
          {"parameters", d.training.parameters},
          {"trainable", d.training.trainable},
          {"buffers", d.training.buffers},
          {"macs", d.inference.macs},
          {"training_macs", d.training.macs},
          {"gradient_bytes", d.gradient_bytes},
          {"activation_bytes", d.activation_bytes},
          {"layers", layers}};
}

void print_table(const Described& d) {
  fmt::print("{} {} on {} x {} x {}, {} classes\n\n", d.model, d.variant, d.spec.channels, d.spec.height, d.spec.width, d.spec.classes);
  std::size_t width = 5;
  for (const auto& l : d.layers) width = std::max(width, l.name.size());
  fmt::print("{:<{}}  {:<18} {:<20} {:>12} {:>14} {:>16} {:>14}\n", "layer", width, "operator", "output", "parameters", "multiply-adds", "activation bytes", "gradient bytes");
  for (const auto& l : d.layers)
    fmt::print("{:<{}}  {:<18} {:<20} {:>12} {:>14} {:>16} {:>14}\n", l.name, width, l.op, ir::shape_text(l.output), l.parameters, l.macs, l.activation_bytes, l.gradient_bytes);
  fmt::print("\n{} layers in training; one image, f32\n", d.layers.size());
  const auto row = [](const char* what, const std::string& value) { fmt::print("  {:<26} {}\n", what, value); };
  row("parameters", fmt::format("{} ({} trained)", d.training.parameters, d.training.trainable));
  row("running statistics", fmt::format("{}", d.training.buffers));
  row("multiply-adds, inference", fmt::format("{} ({:.3f} G)", d.inference.macs, static_cast<double>(d.inference.macs) / 1e9));
  if (d.training.macs != d.inference.macs)
    row("multiply-adds, training", fmt::format("{} ({:.3f} G) forward", d.training.macs, static_cast<double>(d.training.macs) / 1e9));
  row("activation bytes", fmt::format("{} ({:.1f} MB)", d.activation_bytes, static_cast<double>(d.activation_bytes) / 1e6));
  row("gradient bytes", fmt::format("{} ({:.1f} MB)", d.gradient_bytes, static_cast<double>(d.gradient_bytes) / 1e6));
}

}  // namespace

int describe_command(const std::vector<std::string>& args) {
  const DescribeArguments a = parse_describe_arguments(args);
  if (a.help) return 0;
  Environment environment(a.plugin_dirs, record::LogLevel::warning);
  environment.warn_of_refused();
  const Described d = describe(read_choice(a, environment), environment);
  if (a.json)
    fmt::print("{}\n", to_json(d).dump(2, ' ', false, Json::error_handler_t::replace));
  else
    print_table(d);
  return 0;
}

}  // namespace convoy::runner
