// One top-level table of an experiment file, and the readers of each.
// Private to this folder: everyone else calls make_experiment.
#pragma once

#include "experiment/experiment.hpp"

namespace convoy::experiment {

/// The table of that name; empty where it was not written, and then `at` is the file.
struct Section {
  ConfigTable table;
  Position at;
  bool given = false;
};

// The tables that are the core's alone: core_tables.cpp. Errors: usage.
RunOptions read_run(const Section& s, const std::string& default_name);
OptimizerOptions read_optimizer(const Section& s);
ScheduleChoice read_schedule(const Section& s);
CheckpointOptions read_checkpoint(const Section& s);
ReportOptions read_report(const Section& s);
std::optional<BenchmarkOptions> read_benchmark(const Section& s);

// The tables that a plugin shares: plugin_tables.cpp. Errors: usage; those of `schemas`.
ModelChoice read_model(const Section& s, SchemaSource& schemas);
DeviceChoice read_device(const Section& s, SchemaSource& schemas);
std::optional<CommChoice> read_comm(const Section& s, SchemaSource& schemas);
std::optional<Choice> read_sync(const Section& s, SchemaSource& schemas);
DataChoice read_data(const Section& s, SchemaSource& schemas);

}  // namespace convoy::experiment
