#include "experiment/experiment.hpp"

#include "experiment/section.hpp"
#include "experiment/sweep.hpp"
#include "nearest.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::experiment {

namespace {

const std::vector<std::string> kTables{"run",       "model",    "device",     "comm",   "sync",      "data",
                                       "optimizer", "schedule", "checkpoint", "report", "benchmark", "sweep"};

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
    Error error(ErrorKind::usage, fmt::format("{}: unknown {} '{}'", to_string(e.at), table ? "table" : "key", key_text(e.key)));
    error.note("known", join_names(kTables));
    if (const auto near = nearest_name(e.key, kTables); !near.empty()) error.note("fix", fmt::format("did you mean [{}]?", near));
    throw error;
  }
}

/// Until several replicas can run, none but one may be asked for; [comm] and [sync] mean nothing to one alone.
void check_replicas(const Experiment& e, const ConfigTable& config) {
  if (e.device.count == 1) return;
  const ConfigEntry* count = config.find("device")->value.as<ConfigTable>()->find("count");
  std::string missing;
  if (!e.comm || !e.sync)
    missing = fmt::format("need {}{}{}, and ", e.comm ? "" : "[comm]", e.comm || e.sync ? "" : " and ", e.sync ? "" : "[sync]");
  throw Error(ErrorKind::usage, fmt::format("{}: device.count = {}: several replicas {}are not available in this version",
                                            to_string(count->at), e.device.count, missing))
      .note("fix", "count = 1");
}

}  // namespace

Experiment make_experiment(const ConfigTable& config, const std::string& name, SchemaSource& schemas) {
  check_tables(config);
  if (!Sweep(config).empty())
    throw Error(ErrorKind::usage, fmt::format("{}: a file with a [sweep] is many experiments, and one is wanted", to_string(config.find("sweep")->at)));
  const Position file = config.entries().empty() ? Position{name, 0, 0} : Position{config.entries()[0].at.file, 0, 0};
  const auto table = [&](const char* t) { return section(config, t, file); };
  Experiment e;
  e.run = read_run(table("run"), name);
  e.optimizer = read_optimizer(table("optimizer"));
  e.schedule = read_schedule(table("schedule"));
  e.checkpoint = read_checkpoint(table("checkpoint"));
  e.report = read_report(table("report"));
  e.benchmark = read_benchmark(table("benchmark"));
  if (e.run.mode == Mode::benchmark && !e.benchmark) e.benchmark.emplace();
  e.model = read_model(table("model"), schemas);
  e.device = read_device(table("device"), schemas);
  e.comm = read_comm(table("comm"), schemas);
  e.sync = read_sync(table("sync"), schemas);
  e.data = read_data(table("data"), schemas);
  check_replicas(e, config);
  if (e.data.residency == "host" && e.run.mode != Mode::benchmark)
    throw Error(ErrorKind::usage, fmt::format("{}: data.residency = \"host\" is for benchmarks", to_string(config.find("data")->at))).note("fix", "run.mode = \"benchmark\"");
  return e;
}

ModelChoice make_model_choice(const ConfigTable& config, SchemaSource& schemas) { return read_model(section(config, "model", {}), schemas); }

}  // namespace convoy::experiment
