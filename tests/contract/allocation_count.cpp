#include "allocation_count.hpp"

#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <new>
#include <string_view>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CONVOY_COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CONVOY_COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef CONVOY_COUNTS_ALLOCATIONS
#define CONVOY_COUNTS_ALLOCATIONS 1
#endif

namespace {

struct Seen {
  void* caller;
  std::size_t bytes;
};

constexpr std::size_t kMostSeen = 1 << 16;
Seen seen[kMostSeen];
std::atomic<bool> counting{false};
std::atomic<std::size_t> count{0};

[[maybe_unused]] void note(std::size_t bytes, void* caller) {
  if (!counting.load(std::memory_order_relaxed)) return;
  const std::size_t i = count.fetch_add(1, std::memory_order_relaxed);
  if (i < kMostSeen) seen[i] = {caller, bytes};
}

/// The file that holds an address of code; "" where none does.
std::string_view file_of(void* caller, Dl_info& info) {
  return dladdr(caller, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

bool is_own(std::string_view file, std::string_view program) {
  if (file == program || file.empty()) return true;
  const std::string_view name = file.substr(file.rfind('/') + 1);
  if (name.size() > 10 && name.substr(name.size() - 10) == ".convoy.so") return true;
  for (std::string_view library : {"libc.so", "libstdc++.so", "libgcc_s.so", "ld-linux"})
    if (name.substr(0, library.size()) == library) return true;
  return false;
}

}  // namespace

#if CONVOY_COUNTS_ALLOCATIONS
// glibc's own names of what is replaced here ("Replacing malloc" in its manual). The caller of operator new is noted
// rather than the C++ library that would call malloc for it.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t n) {
  note(n, __builtin_return_address(0));
  return __libc_malloc(n);
}
void* calloc(std::size_t n, std::size_t size) {
  note(n * size, __builtin_return_address(0));
  return __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t n) {
  note(n, __builtin_return_address(0));
  return __libc_realloc(p, n);
}
void* memalign(std::size_t align, std::size_t n) {
  note(n, __builtin_return_address(0));
  return __libc_memalign(align, n);
}
void* aligned_alloc(std::size_t align, std::size_t n) {
  note(n, __builtin_return_address(0));
  return __libc_memalign(align, n);
}
int posix_memalign(void** out, std::size_t align, std::size_t n) {
  note(n, __builtin_return_address(0));
  void* p = __libc_memalign(align, n);
  if (p == nullptr) return ENOMEM;
  *out = p;
  return 0;
}
}

void* operator new(std::size_t n) {
  note(n, __builtin_return_address(0));
  void* p = __libc_malloc(n > 0 ? n : 1);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void operator delete(void* p) noexcept { __libc_free(p); }
void operator delete(void* p, std::size_t) noexcept { __libc_free(p); }
#endif

namespace convoy::contract {

AllocationCount::AllocationCount() {
  count = 0;
  counting = true;
}

Allocations AllocationCount::stop() {
  counting = false;
  Dl_info info{};
  const std::string program(file_of(reinterpret_cast<void*>(&is_own), info));
  Allocations out;
  for (std::size_t i = 0; i < count && i < kMostSeen; ++i) {
    const std::string_view file = file_of(seen[i].caller, info);
    if (!is_own(file, program)) {
      ++out.vendor;
      out.largest_vendor = seen[i].bytes > out.largest_vendor ? seen[i].bytes : out.largest_vendor;
    } else if (++out.own == 1) {
      char text[32];
      std::snprintf(text, sizeof text, "+0x%zx", static_cast<std::size_t>(static_cast<char*>(seen[i].caller) - static_cast<char*>(info.dli_fbase)));
      out.first_own = std::string(file) + text;
    }
  }
  return out;
}

}  // namespace convoy::contract
