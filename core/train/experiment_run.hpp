// Runs a checked experiment from its first step to its run directory.
// Prints nothing: what a person sees goes through the Observer and the log.
#pragma once

#include "experiment/experiment.hpp"
#include "plugin/registry.hpp"
#include "record/log.hpp"
#include "record/result_row.hpp"
#include "record/run_directory.hpp"
#include "record/summary.hpp"
#include "train/observer.hpp"

#include <atomic>
#include <ctime>
#include <string>
#include <vector>

namespace convoy::train {

/// What the program gives to a run. Everything outlives the call.
struct RunContext {
  plugin::Registry* registry = nullptr;
  plugin::Host* host = nullptr;
  record::LogSink* log = nullptr;
  Observer* observer = nullptr;
  const std::atomic<bool>* stop = nullptr;  // set by a signal: end at the next step, keep what there is
  record::RunDirectory directory{""};
  std::string version;                      // of Convoy
  std::vector<std::string> argv;
  std::time_t started = 0;
  std::string oracle;                       // the device plugin that gates compare with; the program's choice
};

/// Exit code of a run that was stopped on request and saved its weights: start it again to go on from them.
constexpr int kStoppedExitCode = 75;

/// Writes resolved.toml and manifest.json before the first step; metrics while it runs; weights, results and summary
/// at its end. Where it fails, the summary says so and the error goes on to the caller. `row`, where given, becomes the
/// row of its results. Not for benchmarks: run_sweep.
record::Summary run_experiment(const experiment::Experiment& e, const RunContext& context, record::ResultRow* row = nullptr);

}  // namespace convoy::train
