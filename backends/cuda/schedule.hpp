// The steps of a compiled graph in order, and the memory that they touch: planned by lifetimes into one arena.
// Knows nothing of operators.
#pragma once

#include "step.hpp"

#include <memory>
#include <vector>

namespace convoy::cuda {

/// `refresh`: what is made once from parameters; `run`: every step.
enum class When { refresh, run };

class Schedule {
 public:
  /// Scratch or an activation, planned by the steps that touch it. What refresh touches and a run reads lives always.
  BufferId arena_buffer(uint64_t bytes);
  /// Lives always, whoever touches it, and begins with this content.
  BufferId kept_buffer(std::vector<unsigned char> initial);
  BufferId boundary_buffer(Value v);
  /// Scratch whose size is known only when its plan is.
  BufferId workspace_of(std::shared_ptr<const Choice> choice);

  void add(When when, std::unique_ptr<Step> step);
  /// Once, when all plans are chosen.
  void plan();

  uint64_t arena_bytes() const { return arena_bytes_; }
  uint64_t workspace_bytes() const;
  /// Bytes that live across step `step` of the runs.
  uint64_t bytes_across(uint32_t step) const;
  uint32_t size(When when) const { return static_cast<uint32_t>(steps(when).size()); }
  const std::vector<std::unique_ptr<Step>>& steps(When when) const { return when == When::run ? run_ : refresh_; }

  struct Initial {
    BufferId buffer;
    std::vector<unsigned char> content;
  };
  /// To be written once, when there are addresses.
  const std::vector<Initial>& initial() const { return initial_; }
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
    bool kept = false;
    std::shared_ptr<const Choice> workspace_of;
    uint64_t offset = 0;
    Use refresh, run;
  };

  std::vector<Memory> buffers_;
  std::vector<std::unique_ptr<Step>> refresh_, run_;
  std::vector<Initial> initial_;
  uint64_t arena_bytes_ = 0;
};

}  // namespace convoy::cuda
