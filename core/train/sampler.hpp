// Which samples make up which batch: order by counter-based random numbers, shards by rank, no sample lost
// without a word. Not a reader: datasets fill what this asks for.
//
// The training data are one endless sequence: epoch 0's permutation, then epoch 1's, and so on. Step t takes the
// next global batch of it. With Remainder::roll_over the samples that an epoch leaves over begin the next one's
// first batch (MXNet's roll_over), so every sample is seen equally often; with Remainder::drop they are left out,
// and dropped_per_epoch() says how many.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace convoy::train {

enum class Remainder { roll_over, drop };

struct SampleRef {
  uint64_t epoch;
  uint64_t sample;
};

/// Threads: one at a time (it keeps the last permutation).
class Sampler {
 public:
  /// Errors: data, where there are no samples; usage, where drop would drop them all, or there are 2^32 or more.
  Sampler(uint64_t samples, uint64_t batch_per_rank, uint32_t world, uint64_t seed, bool shuffle, Remainder remainder);

  /// Steps after which `epochs` epochs are finished, to whole batches: their samples not yet used are
  /// left_over(epochs). Errors: usage, where their samples cannot be counted.
  uint64_t steps_for(uint64_t epochs) const;
  /// Samples of the first `epochs` epochs that no step up to steps_for(epochs) has used, in roll_over.
  uint64_t left_over(uint64_t epochs) const;
  uint64_t dropped_per_epoch() const;
  double steps_per_epoch() const;
  uint64_t global_batch() const { return batch_ * world_; }

  /// The samples of `rank` in step `step`; out.size() is the batch per rank.
  void batch(uint64_t step, uint32_t rank, std::span<SampleRef> out);

 private:
  uint64_t used_per_epoch() const;
  uint64_t used_in(uint64_t epochs) const;
  void load_epoch(uint64_t epoch);

  uint64_t samples_;
  uint64_t batch_;
  uint32_t world_;
  uint64_t seed_;
  bool shuffle_;
  Remainder remainder_;
  uint64_t loaded_epoch_ = UINT64_MAX;
  std::vector<uint64_t> order_;
};

}  // namespace convoy::train
