#include "exec/worker_pool.hpp"

#include "error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <system_error>

namespace convoy::exec {

namespace {
constexpr uint64_t kPiecesPerThread = 4;  // enough to even out unequal pieces, few enough to stay cheap
}

WorkerPool::WorkerPool(uint32_t threads) {
  try {
    for (uint32_t i = 1; i < threads; ++i) threads_.emplace_back([this] { worker(); });
  } catch (const std::system_error& e) {
    const std::size_t started = threads_.size() + 1;
    stop();
    throw Error(ErrorKind::usage, fmt::format("only {} of {} threads can be started here: {}", started, threads, e.what()))
        .note("fix", "a lower device.threads, or a higher limit of processes or memory (ulimit)");
  } catch (...) {
    stop();
    throw;
  }
}

WorkerPool::~WorkerPool() { stop(); }

void WorkerPool::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  start_.notify_all();
  for (auto& t : threads_) t.join();
}

void* WorkerPool::query(const char* id) noexcept {
  return std::strcmp(id, IWorkers::id) == 0 ? static_cast<IWorkers*>(this) : nullptr;
}

void WorkerPool::parallel(uint64_t n, uint64_t grain, Body fn, void* ctx) noexcept {
  if (n == 0) return;
  const uint64_t pieces = (threads_.size() + 1) * kPiecesPerThread;
  const uint64_t piece = std::max<uint64_t>({1, grain, (n + pieces - 1) / pieces});
  if (threads_.empty() || piece >= n || in_use_.exchange(true, std::memory_order_acquire)) return fn(ctx, 0, n);
  {
    std::lock_guard lock(mutex_);
    fn_ = fn;
    ctx_ = ctx;
    n_ = n;
    piece_ = piece;
    next_.store(0, std::memory_order_relaxed);
    busy_ = static_cast<uint32_t>(threads_.size());
    ++generation_;
  }
  start_.notify_all();
  take_pieces();
  std::unique_lock lock(mutex_);
  finished_.wait(lock, [this] { return busy_ == 0; });
  in_use_.store(false, std::memory_order_release);
}

void WorkerPool::take_pieces() {
  for (;;) {
    const uint64_t begin = next_.fetch_add(piece_, std::memory_order_relaxed);
    if (begin >= n_) return;
    fn_(ctx_, begin, std::min(n_, begin + piece_));
  }
}

void WorkerPool::worker() {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    start_.wait(lock, [&] { return stopping_ || generation_ != seen; });
    if (stopping_) return;
    seen = generation_;
    lock.unlock();
    take_pieces();
    lock.lock();
    if (--busy_ == 0) finished_.notify_one();
  }
}

}  // namespace convoy::exec
