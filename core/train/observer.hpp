// What the loop tells whoever watches: a terminal, a metrics file, a test. The loop itself never prints.
#pragma once

#include <cstdint>
#include <string>

namespace convoy::train {

struct StepReport {
  uint64_t step = 0;  // finished steps
  uint64_t total_steps = 0;
  double epoch = 0;   // finished epochs, with fraction
  double loss = 0;    // mean over the samples since the last report
  double top1 = 0;    // 0..1, over the same samples
  double lr = 0;      // of the last step
  double images_per_second = 0;
  double step_ms = 0;          // mean since the last report
  double data_wait_share = 0;  // 0..1: of the time since the last report, spent waiting for data
};

/// An epoch (or the part of one at which the run ended).
struct EpochReport {
  double epoch = 0;
  uint64_t step = 0;
  double train_loss = 0;
  double train_top1 = 0;  // 0..1, measured while training
  double train_top5 = 0;
  double seconds = 0;     // training only
};

struct EvaluationReport {
  double epoch = 0;
  uint64_t step = 0;
  uint64_t samples = 0;
  double loss = 0;
  double top1 = 0;  // 0..1
  double top5 = 0;
  double seconds = 0;
};

/// Threads: the replica's. Every method is optional and does nothing by default.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_step(const StepReport&) {}
  virtual void on_epoch(const EpochReport&) {}
  virtual void on_evaluation(const EvaluationReport&) {}
  /// Something a person should know once: dropped samples, a device chosen.
  virtual void on_notice(const std::string&) {}
};

}  // namespace convoy::train
