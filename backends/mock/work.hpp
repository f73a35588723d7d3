// One unit of work of the fake device, and what carries it out.
// Not a queue: stream.hpp. Addresses in here are the device's until the work is run.
#pragma once

#include "memory.hpp"

#include <convoy/sdk/kernels.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace convoy::mock {

class Capture;
class Graph;
class Progress;

using Bindings = std::vector<Binding>;

/// A prepared kernel. Launches with the addresses of the last one, as a step's always are, share their list.
struct MockKernel {
  explicit MockKernel(sdk::PreparedKernel k) : kernel(std::move(k)) {}
  sdk::PreparedKernel kernel;
  std::shared_ptr<const Bindings> last;
};

/// A point in a stream, or in a capture. Threads: any, by `mutex`.
struct EventState {
  std::mutex mutex;
  std::shared_ptr<Progress> stream;     // null: never recorded
  uint64_t position = 0;                // its works done = reached
  std::shared_ptr<Capture> capture;     // of the last record, if under capture
  std::vector<uint32_t> frontier;       // nodes of that capture that it stands behind
  std::atomic<std::chrono::steady_clock::time_point> reached{};
};

struct Work {
  enum class What : uint32_t { nothing, kernel, copy, fill, add, scale, cast, record, wait, replay };
  What what = What::nothing;
  uint32_t byte = 0;                   // fill
  DType type = DType::f32;             // vector work; cast: to
  DType from = DType::f32;
  void* dst = nullptr;
  void* src = nullptr;
  uint64_t count = 0;                  // bytes; elements for vector work
  double factor = 1;                   // scale
  void* workspace = nullptr;           // kernel
  std::shared_ptr<const MockKernel> kernel;
  std::shared_ptr<const Bindings> io;
  std::shared_ptr<EventState> event;   // record
  std::shared_ptr<Progress> awaited;   // wait, until that stream's works up to `position` are done
  uint64_t position = 0;
  std::shared_ptr<Graph> graph;        // replay
};

struct DelayOptions {
  uint64_t max_delay_us = 0;
  uint64_t seed = 0;
  uint64_t fail_at = 0;  // number of the work, from 1, that fails; 0 = none
};

/// Carries work out after a random delay. Threads: any.
class Worker {
 public:
  Worker(Memory& memory, const DelayOptions& options) : memory_(memory), options_(options) {}
  /// Errors: sdk::Error. Waits and records are their stream's affair.
  void run(const Work& w, uint64_t stream, uint64_t position);
  /// A number that follows from seed, stream and position only.
  uint32_t draw(uint64_t stream, uint64_t position, uint32_t what) const;

 private:
  void launch(const Work& w);

  Memory& memory_;
  const DelayOptions options_;
  std::atomic<uint64_t> works_{0};
};

}  // namespace convoy::mock
