// The core's CPU pool, offered to plugins as convoy.workers.1.
// One per replica; not a task scheduler: one parallel loop at a time, the caller works too, and a loop that finds the
// pool in use runs on its caller alone.
#pragma once

#include <convoy/abi.hpp>
#include <convoy/sdk/plugin.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace convoy::exec {

/// Threads: any may call parallel(), also at the same time. Allocates only in the constructor.
class WorkerPool final : public IWorkers {
 public:
  using Body = void (*)(void* ctx, uint64_t begin, uint64_t end);

  /// Errors: usage, where the system refuses a thread; those that started are ended.
  explicit WorkerPool(uint32_t threads);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  void* query(const char* id) noexcept override;
  void destroy() noexcept override {}
  uint32_t size() noexcept override { return static_cast<uint32_t>(threads_.size()) + 1; }
  void parallel(uint64_t n, uint64_t grain, Body fn, void* ctx) noexcept override;

 private:
  void stop();
  void worker();
  void take_pieces();

  std::vector<std::thread> threads_;
  std::atomic<bool> in_use_{false};  // by the one loop that has the threads; what follows is that loop's
  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable finished_;
  uint64_t generation_ = 0;  // counts loops, so that a worker never runs one twice
  uint32_t busy_ = 0;
  bool stopping_ = false;

  Body fn_ = nullptr;
  void* ctx_ = nullptr;
  uint64_t n_ = 0;
  uint64_t piece_ = 1;
  std::atomic<uint64_t> next_{0};
};

}  // namespace convoy::exec
