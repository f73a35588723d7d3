// Replaces operator new for the whole test program. In a file of its own, so that the compiler cannot see both
// sides of an allocation at once and warn that they do not match.
#include "allocation_count.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> count{0};

}  // namespace

void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  ++count;
  return std::malloc(bytes == 0 ? 1 : bytes);
}

void* operator new(std::size_t bytes) {
  if (void* p = ::operator new(bytes, std::nothrow)) return p;
  throw std::bad_alloc();
}

void operator delete(void* p) noexcept { std::free(p); }

void operator delete(void* p, std::size_t) noexcept { std::free(p); }

std::size_t convoy::record::test::allocation_count() { return count; }
