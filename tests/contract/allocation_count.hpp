// Counts this process's heap allocations, plugins' included, by standing in front of malloc.
// Linked into the one test program that asks; not for sanitizer builds, which stand there themselves.
#pragma once

#include <cstdint>

namespace convoy::contract {

/// Counts from its construction to stop() or its end. One at a time.
class AllocationCount {
 public:
  AllocationCount();
  ~AllocationCount() { stop(); }
  AllocationCount(const AllocationCount&) = delete;
  AllocationCount& operator=(const AllocationCount&) = delete;
  uint64_t stop();
};

}  // namespace convoy::contract
