// Measures a network on the evaluation split: every sample once, padding not counted.
#pragma once

#include "train/batch_feed.hpp"
#include "train/observer.hpp"
#include "train/step_pipeline.hpp"

#include <atomic>
#include <functional>
#include <span>

namespace convoy::train {

struct EvaluationOptions {
  uint64_t samples = 0;  // the first ones of the split
  uint64_t batch = 1;
  uint64_t seed = 0;
  uint32_t readers = 1;
  uint32_t timeout_ms = 100'000;
};

/// Called per sample, in order; `logits` has one value per class. For predictions.csv.
using TakeLogits = std::function<void(uint64_t sample, int32_t label, std::span<const float> logits)>;

/// `program` runs `graph`, an inference graph. Ends early, with what was measured, where *stop is set.
/// Errors: those of dataset and device; numerics where the loss is not finite.
EvaluationReport evaluate(const exec::Device& device, exec::Program& program, const StepGraph& graph,
                          const OpenDataset& data, const EvaluationOptions& options, const TakeLogits& take_logits,
                          const std::atomic<bool>& stop);

}  // namespace convoy::train
