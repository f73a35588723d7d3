// The tables that are the core's alone: run, optimizer, schedule, checkpoint, report, benchmark.
#include "experiment/section.hpp"
#include "experiment/table_reader.hpp"
#include "experiment/toml_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace convoy::experiment {

namespace {

constexpr double kLargest = std::numeric_limits<double>::max();
constexpr double kShortestInterval = 1e-3;  // epochs: a shorter one is a slip

std::string run_name(TableReader& r, const std::string& otherwise) {
  const std::string name = r.text("name", otherwise);
  if (name.empty() || !is_plain_text(name))
    throw Error(ErrorKind::usage, fmt::format("{}: run.name is empty, or no UTF-8 text without control characters", to_string(r.where("name"))))
        .note("fix", "name = \"my-run\"");
  return name;
}

void check_length(const RunOptions& o, const TableReader& r, const Section& s) {
  if (o.epochs != 0 && o.steps != 0)
    throw Error(ErrorKind::usage, fmt::format("{}: [run] says both epochs and steps", to_string(r.where("steps")))).note("fix", "one of them");
  if (o.mode == Mode::train && o.epochs == 0 && o.steps == 0)
    throw Error(ErrorKind::usage, fmt::format("{}: [run] says neither epochs nor steps", to_string(s.at))).note("fix", "epochs = 10");
}

double price(const TableReader& r, const ConfigEntry& e) {
  const auto value = option_data(e.value, OptionKind::real);
  const double v = value ? std::get<double>(*value) : -1;
  if (v < 0 || !std::isfinite(v)) r.refuse(e, "a price, or a table of prices by device name,");
  return v;
}

}  // namespace

RunOptions read_run(const Section& s, const std::string& default_name) {
  TableReader r(s.table, "run", s.at);
  RunOptions o;
  o.name = run_name(r, default_name);
  const std::string mode = r.choice("mode", "train", {"train", "evaluate", "benchmark"});
  o.mode = mode == "train" ? Mode::train : mode == "evaluate" ? Mode::evaluate : Mode::benchmark;
  o.epochs = r.integer("epochs", 0, 1);
  o.steps = r.integer("steps", 0, 1);
  o.seed = r.integer("seed", 1, 0);
  o.label_smoothing = r.real("label_smoothing", 0, 0, 0.999);
  o.predictions = r.boolean("predictions", false);
  o.log_every = r.integer("log_every", 0, 0);
  o.evaluate_every_epochs = r.integer("evaluate_every_epochs", 1, 0);
  r.finish();
  check_length(o, r, s);
  if (o.mode != Mode::train) o.epochs = o.steps = 0;  // the same file may be trained from
  return o;
}

OptimizerOptions read_optimizer(const Section& s) {
  TableReader r(s.table, "optimizer", s.at);
  OptimizerOptions o;
  o.use = r.choice("use", "sgd", {"sgd"}, {"lars", "adamw", "rmsprop"});
  o.lr = r.real("lr", 0.1, 0, kLargest);
  o.momentum = r.real("momentum", 0.9, 0, 1);
  o.dampening = r.real("dampening", 0, 0, 1);
  o.weight_decay = r.real("weight_decay", 0, 0, kLargest);
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
  o.warmup_epochs = r.real("warmup_epochs", 0, 0, kLargest);
  o.warmup_steps = r.integer("warmup_steps", 0, 0);
  o.warmup_start = r.real("warmup_start", 0, 0, 1);
  if (o.use == "step") {
    o.milestones = r.reals("milestones", 0, kLargest);
    o.every_epochs = r.real("every_epochs", 0, kShortestInterval, kLargest);
    o.gamma = r.real("gamma", 0.1, 0, kLargest);
  }
  if (o.use == "cosine") o.final_lr = r.real("final_lr", 0, 0, kLargest);
  r.finish({{"milestones", "step"}, {"every_epochs", "step"}, {"gamma", "step"}, {"final_lr", "cosine"}});
  if (o.use == "step" && o.milestones.empty() == (o.every_epochs == 0))
    throw Error(ErrorKind::usage, fmt::format("{}: schedule.use = \"step\" needs either milestones or every_epochs", to_string(r.where("use"))))
        .note("fix", "milestones = [30, 60, 80]");
  if (o.warmup_epochs > 0 && o.warmup_steps > 0)
    throw Error(ErrorKind::usage, fmt::format("{}: [schedule] says both warmup_epochs and warmup_steps", to_string(r.where("warmup_steps"))))
        .note("fix", "one of them");
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
    const auto* by_device = e->value.as<ConfigTable>();
    if (by_device == nullptr) o.price_per_minute[""] = price(r, *e);
    for (const ConfigEntry& p : by_device == nullptr ? std::vector<ConfigEntry>() : by_device->entries()) {
      if (p.key.empty()) r.refuse(p, "a device's name in front of a price");
      o.price_per_minute[p.key] = price(r, p);
    }
  }
  r.finish();
  return o;
}

std::optional<BenchmarkOptions> read_benchmark(const Section& s) {
  if (!s.given) return std::nullopt;
  TableReader r(s.table, "benchmark", s.at);
  BenchmarkOptions o;
  o.pass = r.choice("pass", "train", {"train", "inference"});
  o.warmup_steps = r.integer("warmup_steps", 20, 0);
  o.steps = r.integer("steps", 100, 1, 1'000'000);
  o.repeats = r.integer("repeats", 5, 1, 1000);
  o.seconds = r.real("seconds", 0, 0, kLargest);
  r.finish();
  return o;
}

}  // namespace convoy::experiment
