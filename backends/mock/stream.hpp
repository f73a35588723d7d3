// A stream of the fake device: a thread and a queue of fixed size. Work of one stream runs in order.
// Capture is decided before work gets here.
#pragma once

#include "work.hpp"

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace convoy::mock {

/// How far a stream is. Outlives the stream where events ask about it. Threads: any.
class Progress {
 public:
  enum class State { pending, reached, failed };

  /// Of the first `position` works of the stream.
  State state(uint64_t position);
  /// Blocks, at most `timeout_ms`; UINT64_MAX = for ever.
  State wait(uint64_t position, uint64_t timeout_ms);
  /// The failure of work up to some position, once state() said so. It is the first one and stays.
  sdk::Error failure();

  void finish_one();
  void fail(const sdk::Error& e);
  bool has_failed();

 private:
  State state_locked(uint64_t position) const;

  std::mutex mutex_;
  std::condition_variable moved_;
  uint64_t finished_ = 0;
  uint64_t failed_at_ = UINT64_MAX;
  Code code_ = Code::ok;
  std::string message_;
};

/// Threads: push() from one at a time. The destructor lets all work end.
class MockStream {
 public:
  MockStream(Worker& worker, uint64_t number);
  ~MockStream();
  MockStream(const MockStream&) = delete;
  MockStream& operator=(const MockStream&) = delete;

  /// Blocks while the queue is full, as drivers do. Allocates nothing. Returns the position of the work, from 1.
  uint64_t push(Work w);
  const std::shared_ptr<Progress>& progress() const { return progress_; }

  std::shared_ptr<Capture> capture;  // null: work is run, else recorded there. The pushing thread's

 private:
  void loop();
  void run(const Work& w, uint64_t position);

  Worker& worker_;
  const uint64_t number_;
  const std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Work> ring_;
  uint64_t pushed_ = 0;
  uint64_t taken_ = 0;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace convoy::mock
