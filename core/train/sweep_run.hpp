// Runs the configurations of a sweep, or the one of a plain benchmark, and keeps one results.csv of them.
// Prints nothing: progress goes to the observer, the table is made of the rows by whoever prints it.
#pragma once

#include "train/experiment_run.hpp"

#include <string>
#include <vector>

namespace convoy::train {

struct SweepItem {
  std::string label;  // "" where it is the only one
  experiment::Experiment experiment;
};

struct SweepOutcome {
  std::vector<std::vector<std::string>> rows;  // as in results.csv
  int exit_code = 0;
};

/// All items have the same mode and name. Benchmarks are measured in rounds, one repeat of each configuration a round, so that
/// drift of the machine hits all alike; each is gated before its first repeat. Trainings and evaluations run one after the
/// other, each with a run directory of its own below `context.directory`. Whatever happens to one, the next is run: its row
/// says out_of_memory, gate_failed, unsupported or error. `resolved` is the text of resolved.toml.
///
/// A directory that an interrupted sweep left goes on: configurations with a final row are not run again, those with an error
/// are; repeats that were measured count. Errors: usage, where it is another sweep's; storage.
///
/// The exit code is 0 where each row has a number, or was out of memory or not supported in a sweep; else that of the first
/// that has none.
SweepOutcome run_sweep(const std::vector<SweepItem>& items, const std::string& resolved, const RunContext& context);

}  // namespace convoy::train
