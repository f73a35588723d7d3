#include "stream.hpp"

#include "capture.hpp"

#include <utility>

namespace convoy::mock {

namespace {

constexpr std::size_t kQueueLength = 1024;

}  // namespace

Progress::State Progress::state_locked(uint64_t position) const {
  if (finished_ < position) return State::pending;
  return failed_at_ <= position ? State::failed : State::reached;
}

Progress::State Progress::state(uint64_t position) {
  const std::lock_guard lock(mutex_);
  return state_locked(position);
}

Progress::State Progress::wait(uint64_t position, uint64_t timeout_ms) {
  std::unique_lock lock(mutex_);
  const auto there = [&] { return state_locked(position) != State::pending; };
  if (timeout_ms == UINT64_MAX) moved_.wait(lock, there);
  else moved_.wait_for(lock, std::chrono::milliseconds(timeout_ms), there);
  return state_locked(position);
}

sdk::Error Progress::failure() {
  const std::lock_guard lock(mutex_);
  return {code_, message_};
}

void Progress::finish_one() {
  const std::lock_guard lock(mutex_);
  ++finished_;
  moved_.notify_all();
}

void Progress::fail(const sdk::Error& e) {
  const std::lock_guard lock(mutex_);
  if (failed_at_ != UINT64_MAX) return;
  failed_at_ = finished_ + 1;
  code_ = e.code();
  message_ = e.what();
}

bool Progress::has_failed() {
  const std::lock_guard lock(mutex_);
  return failed_at_ != UINT64_MAX;
}

MockStream::MockStream(Worker& worker, uint64_t number)
    : worker_(worker), number_(number), ring_(kQueueLength), thread_([this] { loop(); }) {}

MockStream::~MockStream() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

uint64_t MockStream::push(Work w) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return pushed_ - taken_ < ring_.size(); });
  ring_[pushed_ % ring_.size()] = std::move(w);
  ++pushed_;
  changed_.notify_all();
  return pushed_;
}

void MockStream::loop() {
  for (;;) {
    Work w;
    uint64_t position = 0;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return pushed_ > taken_ || stopping_; });
      if (pushed_ == taken_) return;
      w = std::exchange(ring_[taken_ % ring_.size()], Work{});
      position = ++taken_;
      changed_.notify_all();
    }
    run(w, position);
    w = Work{};  // what it held may be destroyed by whoever sees it finished
    progress_->finish_one();
  }
}

/// After a failure the rest of the stream is skipped, and whoever waits for it fails with the same words.
void MockStream::run(const Work& w, uint64_t position) {
  if (w.what == Work::What::record) {
    w.event->reached = std::chrono::steady_clock::now();
  } else if (w.what == Work::What::wait) {
    if (w.awaited->wait(w.position, UINT64_MAX) == Progress::State::failed) progress_->fail(w.awaited->failure());
  } else if (!progress_->has_failed()) {
    try {
      worker_.run(w, number_, position);
    } catch (const sdk::Error& e) {
      progress_->fail(e);
    } catch (const std::exception& e) {
      progress_->fail({Code::internal, e.what()});
    }
  }
}

}  // namespace convoy::mock
