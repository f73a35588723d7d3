// The fake device's memory: host memory behind addresses that the host cannot dereference.
// Knows what is allocated, so that work on freed or foreign memory is an error instead of luck. No pool, no cache.
#pragma once

#include <convoy/abi.hpp>

#include <cstdint>
#include <map>
#include <mutex>

namespace convoy::mock {

/// Threads: any.
class Memory {
 public:
  explicit Memory(uint64_t limit_bytes) : limit_bytes_(limit_bytes) {}
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Fresh device memory is full of NaNs. Errors: out_of_memory past the limit, which counts device memory only.
  Buffer alloc(uint64_t bytes, uint64_t align, Mem m, uint32_t ordinal);
  void free(const Buffer& b);

  /// Where `bytes` bytes at a kernel's address lie. Errors: device, unless they are inside one living allocation of
  /// device or pinned memory.
  char* for_kernel(void* p, uint64_t bytes) const { return locate(p, bytes, false); }
  /// The same for copies, which take any host memory too.
  char* for_copy(void* p, uint64_t bytes) const { return locate(p, bytes, true); }

  uint64_t limit_bytes() const { return limit_bytes_; }
  uint64_t used_bytes() const;

 private:
  struct Piece {
    uint64_t bytes;
    Mem mem;
  };
  char* locate(void* p, uint64_t bytes, bool any_host) const;

  const uint64_t limit_bytes_;
  mutable std::mutex mutex_;
  std::map<uintptr_t, Piece> pieces_;  // by real address
  uint64_t used_bytes_ = 0;
};

}  // namespace convoy::mock
