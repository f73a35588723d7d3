// The training loop of one replica: feeds steps, follows the schedule, watches the loss, evaluates in between.
// Does not build graphs, open files or choose anything: it gets those, and says what happened to an Observer.
#pragma once

#include "record/statistics.hpp"
#include "train/evaluation.hpp"
#include "train/schedule.hpp"
#include "train/step_pipeline.hpp"

#include <atomic>
#include <functional>
#include <optional>
#include <vector>

namespace convoy::train {

struct TrainOptions {
  uint64_t steps = 0;                // in all
  uint64_t log_every = 1;            // steps
  uint64_t evaluate_every_epochs = 1;  // 0 = at the end only
  uint64_t save_every_epochs = 1;      // 0 = at the end only
  uint64_t seed = 0;
  uint64_t batch = 1;  // per replica
  uint32_t rank = 0;
  bool augment = true;
  bool resident = false;  // one batch, kept on the device
  uint32_t readers = 1;
  uint32_t timeout_ms = 100'000;
};

/// One form of the network, ready to run.
struct Runnable {
  exec::Program* program = nullptr;
  const StepGraph* graph = nullptr;
};

struct TrainOutcome {
  bool stopped = false;  // on request, before the last step
  uint64_t steps = 0;    // finished
  double epochs = 0;
  std::optional<double> train_loss;  // mean over the last epoch, or what there was of it
  std::optional<EvaluationReport> evaluation;  // the last one
  std::optional<double> best_top1;
  record::Distribution step_ms;      // of finished steps, evaluations and saves left out
  double images_per_second = 0;      // from the median step
};

/// Everything the loop works with; all of it outlives the call.
struct TrainParts {
  const exec::Device* device = nullptr;
  Runnable train;
  Runnable eval;  // program null = no evaluation
  const OpenDataset* data = nullptr;
  Sampler* sampler = nullptr;
  ScheduleOptions schedule;
  EvaluationOptions evaluation;
  Observer* observer = nullptr;
  /// After the epochs that options name, and not at the end: the caller saves then itself.
  std::function<void(uint64_t epoch)> save;
};

/// Errors: numerics where the loss is not finite, naming step and learning rate; those of data and device.
TrainOutcome train(const TrainParts& parts, const TrainOptions& options, const std::atomic<bool>& stop);

}  // namespace convoy::train
