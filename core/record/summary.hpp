// summary.json: how a run ended, in a few numbers that scripts read.
// Not the history (metrics.ndjson) and not the comparison table (results.csv).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "record/ndjson.hpp"

namespace convoy::record {

/// Absent values are left out of the file; a value that is there but not finite is null. Fractions are 0..1.
struct Summary {
  std::string status;                       // "done", "stopped", "failed"
  int exit_code = 0;
  std::optional<std::int64_t> steps;
  std::optional<double> epochs;             // written without a decimal point where whole
  std::optional<double> train_loss;
  std::optional<double> top1;
  std::optional<double> top5;
  std::optional<double> loss;               // of the evaluation
  std::optional<double> images_per_second;
  std::optional<double> wall_s;
  std::optional<double> best_top1;
  Record more;                              // behind the others, in this order
};

/// The text of the file.
std::string to_json(const Summary& summary);
/// Replaces the file as a whole. Errors: storage.
void write_summary(const std::filesystem::path& path, const Summary& summary);

}  // namespace convoy::record
