// Shows a run on standard output: one line that is rewritten on a terminal, plain lines elsewhere.
// Nothing here is needed by scripts: they read metrics.ndjson. What cannot be shown is lost, and the run goes on.
#pragma once

#include "record/statistics.hpp"
#include "train/observer.hpp"

#include <cstdio>
#include <string>

namespace convoy::runner {

/// Threads: the replica's.
class Progress final : public train::Observer {
 public:
  /// `terminal`: whether `out` is one.
  Progress(std::FILE* out, bool terminal) : out_(out), terminal_(terminal) {}

  void on_step(const train::StepReport& r) override;
  void on_epoch(const train::EpochReport& r) override;
  void on_evaluation(const train::EvaluationReport& r) override;
  void on_notice(const std::string& text) override;

 private:
  void line(const std::string& text);

  std::FILE* out_;
  bool terminal_;
  bool unfinished_ = false;  // the terminal's last line will be rewritten
  double shown_epoch_ = -1;
  record::Stopwatch since_shown_;
};

}  // namespace convoy::runner
