// One program and one batch that stays in its inputs: steps one by one, each waited for. What gates look at.
// Not for measuring: nothing overlaps.
#pragma once

#include "train/step_pipeline.hpp"

#include <vector>

namespace convoy::train {

/// Borrows program and graph. Threads: the replica's. Errors: those of the device; peer, on a time-out.
class FixedBatch {
 public:
  /// `batch` may hold more than the inputs take; then its first samples are used. Refreshes the program.
  FixedBatch(const exec::Device& device, exec::Program& program, const StepGraph& graph, const Batch& batch, uint64_t seed);

  /// The loss before the step's update. Random draws are the same in every step.
  double step(float lr);
  /// Of the last step.
  std::vector<float> logits() const;
  std::vector<float> values(Value v) const { return program_.export_f32(v, pipeline_.stream()); }
  void set_values(Value v, const std::vector<float>& values) { program_.import_f32(v, values, pipeline_.stream()); }
  /// After set_values(), before the next step.
  void refresh() { program_.refresh(pipeline_.stream()); }

 private:
  exec::Program& program_;
  const StepGraph& graph_;
  StepPipeline pipeline_;
  StepScalars scalars_;
};

/// Samples of a split one after the other, again and again.
PickSamples in_order(uint64_t batch, uint64_t samples);

/// The first samples of a split of an open dataset, as one batch; owns its memory. Errors: those of the dataset.
class FirstBatch {
 public:
  FirstBatch(const exec::Device& device, const OpenDataset& data, Split split, uint64_t batch, uint64_t samples, uint64_t seed);
  const Batch& batch() const { return *batch_; }

 private:
  BatchFeed feed_;
  const Batch* batch_;
};

/// Images uniform over +-sqrt(3), of variance 1, and labels, from counter-based random numbers; owns their memory.
class RandomBatch {
 public:
  RandomBatch(const ModelSpec& spec, uint64_t seed);
  const Batch& batch() const { return batch_; }

 private:
  std::vector<float> images_;
  std::vector<int32_t> labels_;
  Batch batch_;
};

}  // namespace convoy::train
