// repeats.ndjson: what each repeat of each configuration of a sweep measured, so that an interrupted one goes on.
// Not the result: that is results.csv, made from this.
#pragma once

#include "record/append_file.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace convoy::record {

struct Repeat {
  std::string sweep;                // the configuration
  std::vector<std::string> fields;  // of its row in results.csv, as it then stood
  std::vector<double> step_ms;      // of this repeat; empty where there was no number
};

/// Threads: one. Errors of all members: storage.
class Repeats {
 public:
  /// Opens or makes the file; a torn last line is cut off.
  explicit Repeats(const std::filesystem::path& path);

  /// What the file held when it was opened, oldest first.
  const std::vector<Repeat>& earlier() const { return earlier_; }
  /// In the file when this returns.
  void append(const Repeat& r);

 private:
  std::vector<Repeat> earlier_;
  AppendFile file_;
};

}  // namespace convoy::record
