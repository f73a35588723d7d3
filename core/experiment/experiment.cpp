#include "experiment/experiment.hpp"

#include "experiment/table_reader.hpp"
#include "experiment/toml_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace convoy::experiment {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::max();
const std::vector<std::string> kTables{"run",       "model",    "device",     "comm",   "sync",      "data",
                                       "optimizer", "schedule", "checkpoint", "report", "benchmark", "sweep"};

/// The table of that name, empty where it was not written.
struct Section {
  ConfigTable table;
  Position at;
  bool given = false;
};

Section section(const ConfigTable& config, const std::string& name, const Position& file) {
  const ConfigEntry* e = config.find(name);
  if (e == nullptr) return {{}, file, false};
  if (const auto* t = e->value.as<ConfigTable>()) return {*t, e->at, true};
  throw Error(ErrorKind::usage, fmt::format("{}: '{}' is {}; a table is expected", to_string(e->at), name, kind_text(e->value)))
      .note("fix", fmt::format("[{}]", name));
}

void check_tables(const ConfigTable& config) {
  for (const ConfigEntry& e : config.entries()) {
    if (std::find(kTables.begin(), kTables.end(), e.key) != kTables.end()) continue;
    const bool table = e.value.as<ConfigTable>() != nullptr;
    Error error(ErrorKind::usage, fmt::format("{}: unknown {} '{}'", to_string(e.at), table ? "table" : "key", e.key));
    error.note("known", join_names(kTables));
    if (const auto near = nearest_name(e.key, kTables); !near.empty()) error.note("fix", fmt::format("did you mean [{}]?", near));
    throw error;
  }
}

/// Reads `use` and, after the core's own keys were taken, the plugin's options.
void read_options(Choice& c, TableReader& r, const std::string& table, const std::string& kind, SchemaSource& schemas) {
  const auto rules = parse_schema(schemas.schema(kind, c.use, c.at), c.use);
  for (const auto& rule : rules) {
    const auto core_keys = r.asked();
    if (std::find(core_keys.begin(), core_keys.end(), rule.key) != core_keys.end())
      throw Error(ErrorKind::plugin, fmt::format("plugin '{}' wants the option '{}' of [{}], which is the core's", c.use, rule.key, table));
  }
  c.options = check_options(rules, r.rest(), table, r.asked());
}

void read_use(Choice& c, TableReader& r, const std::string& table, const std::string& otherwise) {
  c.use = r.text("use", otherwise);
  c.at = r.where("use");
  if (c.use.empty())
    throw Error(ErrorKind::usage, fmt::format("{}: [{}] does not say which: use = \"...\"", to_string(c.at), table));
}

RunOptions read_run(const Section& s, const std::string& name) {
  TableReader r(s.table, "run", s.at);
  RunOptions o;
  o.name = r.text("name", name);
  const std::string mode = r.choice("mode", "train", {"train", "evaluate"}, {"benchmark"});
  o.mode = mode == "train" ? Mode::train : Mode::evaluate;
  o.epochs = r.integer("epochs", 0, 1);
  o.steps = r.integer("steps", 0, 1);
  o.seed = r.integer("seed", 1, 0);
  o.label_smoothing = r.real("label_smoothing", 0, 0, 0.999);
  o.predictions = r.boolean("predictions", false);
  o.log_every = r.integer("log_every", 0, 0);
  o.evaluate_every_epochs = r.integer("evaluate_every_epochs", 1, 0);
  r.finish();
  if (o.mode == Mode::train && o.epochs == 0 && o.steps == 0)
    throw Error(ErrorKind::usage, fmt::format("{}: [run] says neither epochs nor steps", to_string(s.at))).note("fix", "epochs = 10");
  if (o.epochs != 0 && o.steps != 0)
    throw Error(ErrorKind::usage, fmt::format("{}: [run] says both epochs and steps", to_string(r.where("steps")))).note("fix", "one of them");
  return o;
}

ModelChoice read_model(const Section& s, SchemaSource& schemas) {
  TableReader r(s.table, "model", s.at);
  ModelChoice c;
  read_use(c, r, "model", "");
  c.classes = r.integer("classes", 0, 0, 1 << 24);
  c.image = r.integer("image", 0, 0, 1 << 14);
  c.weights = r.text("weights", "");
  read_options(c, r, "model", "model", schemas);
  return c;
}

DeviceChoice read_device(const Section& s, SchemaSource& schemas) {
  TableReader r(s.table, "device", s.at);
  DeviceChoice c;
  read_use(c, r, "device", "auto");
  if (c.use == "auto") c.use = schemas.auto_device();
  c.count = r.integer("count", 1, 1, 1024);
  c.ordinals = r.integers("ordinals", 0);
  c.precision = r.choice("precision", "fp32", {"fp32", "tf32", "bf16", "fp16"});
  c.execution = r.choice("execution", "", {"", "compiled", "stitched"});
  c.deterministic = r.boolean("deterministic", false);
  c.threads = r.integer("threads", 0, 0, 4096);
  read_options(c, r, "device", "device", schemas);
  if (!c.ordinals.empty() && static_cast<int64_t>(c.ordinals.size()) != c.count)
    throw Error(ErrorKind::usage, fmt::format("{}: device.ordinals names {} devices, device.count is {}", to_string(r.where("ordinals")),
                                              c.ordinals.size(), c.count));
  return c;
}

std::optional<Choice> read_plain(const Section& s, const std::string& table, SchemaSource& schemas) {
  if (!s.given) return std::nullopt;
  TableReader r(s.table, table, s.at);
  Choice c;
  read_use(c, r, table, "");
  read_options(c, r, table, table, schemas);
  return c;
}

DataChoice read_data(const Section& s, SchemaSource& schemas) {
  TableReader r(s.table, "data", s.at);
  DataChoice c;
  read_use(c, r, "data", "shapes");
  c.batch = r.integer("batch", 32, 1, 1 << 24);
  c.train_limit = r.integer("train_limit", 0, 0);
  c.eval_limit = r.integer("eval_limit", 0, 0);
  c.residency = r.choice("residency", "auto", {"auto", "stream", "device"}, {"host"});
  c.remainder = r.choice("remainder", "roll_over", {"roll_over", "drop"});
  c.mean = r.reals("mean", -kInfinity, kInfinity);
  c.stdev = r.reals("std", 1e-12, kInfinity);
  c.shuffle = r.boolean("shuffle", true);
  c.augment = r.boolean("augment", true);
  c.workers = r.integer("workers", 0, 0, 1024);
  if (c.mean.size() > 4 || c.mean.size() != c.stdev.size())
    throw Error(ErrorKind::usage, fmt::format("{}: data.mean and data.std need one number a channel each, at most 4; {} and {} are given",
                                              to_string(r.where("mean")), c.mean.size(), c.stdev.size()));
  read_options(c, r, "data", "data", schemas);
  return c;
}

OptimizerOptions read_optimizer(const Section& s) {
  TableReader r(s.table, "optimizer", s.at);
  OptimizerOptions o;
  o.use = r.choice("use", "sgd", {"sgd"}, {"lars", "adamw", "rmsprop"});
  o.lr = r.real("lr", 0.1, 0, kInfinity);
  o.momentum = r.real("momentum", 0.9, 0, 1);
  o.dampening = r.real("dampening", 0, 0, 1);
  o.weight_decay = r.real("weight_decay", 0, 0, kInfinity);
  o.nesterov = r.boolean("nesterov", false);
  r.finish();
  if (o.nesterov && (o.momentum == 0 || o.dampening != 0))
    throw Error(ErrorKind::usage, fmt::format("{}: optimizer.nesterov needs momentum above 0 and no dampening", to_string(r.where("nesterov"))));
  return o;
}

ScheduleChoice read_schedule(const Section& s) {
  TableReader r(s.table, "schedule", s.at);
  ScheduleChoice o;
  o.use = r.choice("use", "constant", {"constant", "step", "cosine"}, {"polynomial"});
  o.warmup_epochs = r.real("warmup_epochs", 0, 0, kInfinity);
  o.warmup_steps = r.integer("warmup_steps", 0, 0);
  o.warmup_start = r.real("warmup_start", 0, 0, 1);
  if (o.use == "step") {
    o.milestones = r.reals("milestones", 0, kInfinity);
    o.every_epochs = r.real("every_epochs", 0, 0, kInfinity);
    o.gamma = r.real("gamma", 0.1, 0, kInfinity);
    if (o.milestones.empty() == (o.every_epochs == 0))
      throw Error(ErrorKind::usage, fmt::format("{}: schedule \"step\" needs either milestones or every_epochs", to_string(s.at)))
          .note("fix", "milestones = [30, 60, 80]");
  }
  if (o.use == "cosine") o.final_lr = r.real("final_lr", 0, 0, kInfinity);
  r.finish();
  return o;
}

CheckpointOptions read_checkpoint(const Section& s) {
  TableReader r(s.table, "checkpoint", s.at);
  CheckpointOptions o;
  o.every_epochs = r.integer("every_epochs", 1, 0);
  o.keep_last = r.integer("keep_last", 3, 0);
  r.finish();
  return o;
}

ReportOptions read_report(const Section& s) {
  TableReader r(s.table, "report", s.at);
  ReportOptions o;
  o.currency = r.text("currency", "USD");
  if (const ConfigEntry* e = r.take("price_per_minute")) {
    const auto price = [&](const ConfigEntry& p) {
      const auto* d = p.value.as<double>();
      const auto* i = p.value.as<int64_t>();
      const double v = d != nullptr ? *d : i != nullptr ? static_cast<double>(*i) : -1;
      if (!(v >= 0)) r.refuse(p, "a price, or a table of prices by device name");
      return v;
    };
    if (const auto* t = e->value.as<ConfigTable>())
      for (const ConfigEntry& p : t->entries()) o.price_per_minute[p.key] = price(p);
    else
      o.price_per_minute[""] = price(*e);
  }
  r.finish();
  return o;
}

void refuse_not_yet(const ConfigTable& config) {
  for (const char* table : {"sweep", "benchmark"})
    if (const ConfigEntry* e = config.find(table))
      throw Error(ErrorKind::usage, fmt::format("{}: [{}] is not available in this version", to_string(e->at), table));
}

void check_replicas(const Experiment& e) {
  if (e.device.count == 1) return;
  throw Error(ErrorKind::usage, fmt::format("device.count = {}: several replicas are not available in this version", e.device.count))
      .note("fix", "device.count = 1");
}

}  // namespace

Experiment make_experiment(const ConfigTable& config, const std::string& name, SchemaSource& schemas) {
  check_tables(config);
  refuse_not_yet(config);
  const Position file = config.entries().empty() ? Position{name, 0, 0} : Position{config.entries()[0].at.file, 0, 0};
  const auto table = [&](const char* t) { return section(config, t, file); };
  Experiment e;
  e.run = read_run(table("run"), name);
  e.optimizer = read_optimizer(table("optimizer"));
  e.schedule = read_schedule(table("schedule"));
  e.checkpoint = read_checkpoint(table("checkpoint"));
  e.report = read_report(table("report"));
  e.model = read_model(table("model"), schemas);
  e.device = read_device(table("device"), schemas);
  e.comm = read_plain(table("comm"), "comm", schemas);
  e.sync = read_plain(table("sync"), "sync", schemas);
  e.data = read_data(table("data"), schemas);
  check_replicas(e);
  return e;
}

}  // namespace convoy::experiment
