// The steps of an executable in order, and the memory they use: lifetimes, and their places in one arena.
// Knows no operators.
#pragma once

#include "step.hpp"

#include <memory>
#include <vector>

namespace convoy::cpu {

/// When a step runs: each time, or only in refresh(), after parameters changed from outside.
enum class When { refresh, run };

class Schedule {
 public:
  /// Memory in the arena.
  BufferId arena_buffer(uint64_t bytes);
  /// Memory that bind() gets for a boundary value.
  BufferId boundary_buffer(Value v);

  /// `touched`: every buffer the step reads or writes.
  void add(When when, std::unique_ptr<Step> step, const std::vector<BufferId>& touched);
  /// A buffer written by refresh and read by runs: kept from run to run, so no one may write over it.
  bool is_kept(BufferId b) const { return buffers_[b].refresh.used; }
  bool is_arena(BufferId b) const { return buffers_[b].boundary == kNoValue; }

  /// Places all arena buffers. Call once, after the last add().
  void plan();
  uint64_t arena_bytes() const { return arena_bytes_; }
  /// Bytes of the arena buffers for which `wanted` says yes: all together, and of the largest.
  template <class Predicate>
  uint64_t bytes_of(Predicate&& wanted) const {
    uint64_t sum = 0;
    for (BufferId b = 0; b < buffers_.size(); ++b)
      if (is_arena(b) && wanted(b)) sum += buffers_[b].bytes;
    return sum;
  }
  template <class Predicate>
  uint64_t largest_of(Predicate&& wanted) const {
    uint64_t most = 0;
    for (BufferId b = 0; b < buffers_.size(); ++b)
      if (is_arena(b) && wanted(b)) most = buffers_[b].bytes > most ? buffers_[b].bytes : most;
    return most;
  }
  /// Used by one step of the run only.
  bool is_scratch(BufferId b) const {
    return buffers_[b].run.used && !buffers_[b].refresh.used && buffers_[b].run.first == buffers_[b].run.last;
  }
  /// Whether `b` is written before step `step` of the run and read at it or later.
  bool lives_across(BufferId b, uint32_t step) const;

  uint32_t size(When when) const { return static_cast<uint32_t>(steps(when).size()); }
  const std::vector<std::unique_ptr<Step>>& steps(When when) const { return when == When::run ? run_ : refresh_; }

  /// Addresses by buffer. `boundary`: by value, null where there is none.
  std::vector<void*> addresses(void* arena, const std::vector<void*>& boundary) const;

 private:
  struct Use {
    bool used = false;
    uint32_t first = 0, last = 0;  // steps, each list counted from 0
  };
  struct Memory {
    uint64_t bytes = 0;
    Value boundary = kNoValue;
    uint64_t offset = 0;
    Use refresh, run;
  };

  std::vector<Memory> buffers_;
  std::vector<std::unique_ptr<Step>> refresh_, run_;
  uint64_t arena_bytes_ = 0;
};

}  // namespace convoy::cpu
