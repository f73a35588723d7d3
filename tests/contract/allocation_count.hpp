// Counts this process's heap allocations, plugins' included, by standing in front of malloc and operator new.
// Linked into the one test program that asks; not for sanitizer builds, which stand there themselves.
#pragma once

#include <cstdint>
#include <string>

namespace convoy::contract {

struct Allocations {
  uint64_t own = 0;             // called from this program, from a plugin or from the C and C++ libraries
  uint64_t vendor = 0;          // called from inside another library, one that a plugin uses
  uint64_t largest_vendor = 0;  // bytes
  std::string first_own;        // "file+offset" of the first caller, to look up with addr2line
};

/// Counts from its construction to stop(). One at a time.
class AllocationCount {
 public:
  AllocationCount();
  AllocationCount(const AllocationCount&) = delete;
  AllocationCount& operator=(const AllocationCount&) = delete;
  Allocations stop();
};

}  // namespace convoy::contract
