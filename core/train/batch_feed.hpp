// Reads batches ahead of the step on threads of its own, into memory that is allocated once.
// Which samples: Sampler. What is in them: the dataset. When they reach the device: the loop.
#pragma once

#include "exec/device.hpp"
#include "plugin/host.hpp"
#include "train/sampler.hpp"

#include <convoy/abi.hpp>

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace convoy::train {

/// A dataset that is open, and what it said of itself.
struct OpenDataset {
  IDataset* dataset = nullptr;
  std::string name;  // the plugin
  DatasetInfo info{};
  plugin::Host* host = nullptr;
};

/// A batch in staging memory; the memory is the feed's until give_back().
struct Batch {
  Buffer images;
  Buffer labels;
  uint64_t step = 0;
  uint64_t filled = 0;  // samples; the rest have label -1
};

/// Fills the samples of one step: called on reader threads, one step at a time.
/// Fewer than the batch may be returned; the feed then pads with label -1.
using PickSamples = std::function<void(uint64_t step, std::vector<SampleRef>& out)>;

struct FeedOptions {
  Split split = Split::train;
  bool augment = false;
  uint64_t seed = 0;
  uint64_t batch = 1;    // per replica
  uint64_t first_step = 0;
  uint64_t end_step = 0;
  uint32_t readers = 1;  // threads
};

/// Threads: take() and give_back() from one thread. Errors: those of the dataset, thrown by take().
class BatchFeed {
 public:
  BatchFeed(const exec::Device& device, const OpenDataset& data, PickSamples pick, const FeedOptions& options);
  ~BatchFeed();
  BatchFeed(const BatchFeed&) = delete;
  BatchFeed& operator=(const BatchFeed&) = delete;

  /// The batch of the next step, waited for. Steps come in order from first_step.
  const Batch& take();
  /// The batch of `step`, and all before it, are no longer read by anybody: their copies to the device are done.
  void give_back(uint64_t step);

 private:
  struct Slot {
    exec::DeviceBuffer images, labels;
    Batch batch;
    bool ready = false;
  };

  /// What a reader thread keeps between steps, so that a step allocates nothing.
  struct Picked {
    std::vector<SampleRef> samples;
    std::vector<uint64_t> indices;
  };

  void stop();
  void read_steps();
  void fill(Slot& slot, uint64_t step, Picked& picked);
  void read_run(Slot& slot, uint64_t at, const SampleRef* first, uint64_t n, std::vector<uint64_t>& indices);
  void check_labels(const int32_t* labels, const SampleRef* first, uint64_t n) const;
  Slot& slot_of(uint64_t step) { return slots_[step % slots_.size()]; }

  const OpenDataset& data_;
  PickSamples pick_;
  FeedOptions options_;
  uint64_t image_bytes_ = 0;  // of one sample
  std::vector<Slot> slots_;
  std::vector<std::thread> readers_;

  std::mutex mutex_;
  std::mutex pick_mutex_;
  std::condition_variable changed_;
  uint64_t next_read_;   // step that the next free reader takes
  uint64_t next_take_;
  uint64_t given_back_;  // steps below it have free slots
  std::exception_ptr failure_;
  bool stopping_ = false;
};

}  // namespace convoy::train
