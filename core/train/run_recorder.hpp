// Writes what the loop reports into metrics.ndjson, and passes it on to the next observer.
// Not the end of a run: summary and results are written by whoever ran it.
#pragma once

#include "record/ndjson.hpp"
#include "train/observer.hpp"

namespace convoy::train {

/// Owns: nothing it is given. Threads: the replica's. Errors: storage.
class RunRecorder final : public Observer {
 public:
  RunRecorder(record::NdjsonWriter& metrics, Observer& next) : metrics_(metrics), next_(next) {}

  void on_step(const StepReport& r) override;
  void on_epoch(const EpochReport& r) override;
  void on_evaluation(const EvaluationReport& r) override;
  void on_notice(const std::string& text) override { next_.on_notice(text); }

 private:
  record::NdjsonWriter& metrics_;
  Observer& next_;
};

}  // namespace convoy::train
