// The folder that one run leaves behind, and the names of the files in it.
// Not their contents: summary, manifest, metrics and results each have a file of their own here.
#pragma once

#include <ctime>
#include <filesystem>
#include <string>
#include <string_view>

#include "record/atomic_file.hpp"

namespace convoy::record {

/// What of `name` can stand in a file name everywhere: letters, digits, '.', '_', '-'; others become '-'.
/// Never empty, never hidden, at most 100 bytes.
std::string sanitized_run_name(std::string_view name);

/// Paths only; copies are cheap and own nothing.
class RunDirectory {
 public:
  /// Makes `<out>/<name>-<YYYYMMDD-HHMMSS>/` (local time), with `-2`, `-3`, ... behind it where that exists: no two
  /// runs ever share one, whoever starts them. Makes `out` and `checkpoints/` too. Errors: storage.
  static RunDirectory create(const std::filesystem::path& out, std::string_view name,
                             std::time_t now = std::time(nullptr));

  /// A directory that exists already. Not checked.
  explicit RunDirectory(std::filesystem::path root) : root_(std::move(root)) {}

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path resolved_toml() const { return root_ / "resolved.toml"; }
  std::filesystem::path manifest() const { return root_ / "manifest.json"; }
  std::filesystem::path metrics() const { return root_ / "metrics.ndjson"; }
  std::filesystem::path results() const { return root_ / "results.csv"; }
  std::filesystem::path predictions() const { return root_ / "predictions.csv"; }
  std::filesystem::path skipped() const { return root_ / "skipped.ndjson"; }
  std::filesystem::path summary() const { return root_ / "summary.json"; }
  std::filesystem::path log() const { return root_ / "log.txt"; }
  std::filesystem::path report() const { return root_ / "report.html"; }
  std::filesystem::path checkpoints() const { return root_ / "checkpoints"; }

 private:
  std::filesystem::path root_;
};

}  // namespace convoy::record
