// Keeps a device busy: enqueues steps ahead of their results, and reads the results back with a bounded lag.
// Does not decide what a step is fed with, nor what its results mean.
#pragma once

#include "exec/device.hpp"
#include "exec/program.hpp"
#include "train/batch_feed.hpp"
#include "train/step_graph.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace convoy::train {

struct StepScalars {
  float lr = 0;
  float scale = 1;                  // multiplies every gradient
  std::array<int64_t, 4> rng{};     // seed, step, first sample of this replica in the global batch, 0
};

/// `logits` is empty unless asked for; it is valid until the next submit().
struct StepResult {
  uint64_t step = 0;
  uint64_t counted = 0;  // samples that count
  float loss = 0;        // mean over them
  int32_t top1 = 0;      // counts
  int32_t top5 = 0;
  std::span<const float> logits;
};

/// Threads: the replica's. Allocates in the constructor only. Errors: those of the device; peer, on a time-out.
class StepPipeline {
 public:
  /// At most this many steps are in flight: one computing, one queued behind it. On a device that computes in submit()
  /// itself it is one, so that the time between two ends is the time of a step there too.
  static constexpr uint64_t kDepth = 2;

  /// `program` runs `graph`. Both outlive the pipeline.
  StepPipeline(const exec::Device& device, exec::Program& program, const StepGraph& graph, bool want_logits,
               uint32_t timeout_ms);
  /// Waits for what is in flight, also after an error: the memory that it uses is freed next.
  ~StepPipeline();
  StepPipeline(const StepPipeline&) = delete;
  StepPipeline& operator=(const StepPipeline&) = delete;

  bool full() const { return submitted_ - finished_ == depth_; }
  bool empty() const { return submitted_ == finished_; }

  /// Enqueues a step. The batch's memory is read until finish() has returned this step. Without a batch the
  /// inputs stay as they are. Must not be full.
  void submit(uint64_t step, const Batch* batch, uint64_t counted, const StepScalars& scalars);
  /// Waits for the oldest step in flight. Must not be empty.
  StepResult finish();
  Stream stream() const { return stream_.get(); }

 private:
  struct Slot {
    exec::DeviceBuffer memory;  // scalars going in, results coming out
    exec::DeviceBuffer logits;
    std::unique_ptr<exec::DeviceEvent> done;
    uint64_t step = 0;
    uint64_t counted = 0;
  };

  void write_scalars(Slot& slot, const StepScalars& scalars);
  void read_results(Slot& slot);

  const exec::Device& device_;
  exec::Program& program_;
  const StepGraph& graph_;
  bool want_logits_;
  uint32_t timeout_ms_;
  uint64_t depth_;
  std::vector<Slot> slots_;
  exec::DeviceStream stream_;
  uint64_t submitted_ = 0;
  uint64_t finished_ = 0;
};

}  // namespace convoy::train
