#include "memory.hpp"

#include "cuda_error.hpp"

#include <convoy/sdk/host_device.hpp>

#include <cstdlib>
#include <cstring>
#include <memory>

namespace convoy::cuda {

namespace {

constexpr uint64_t kRuntimeAlignment = 256;  // what cudaMalloc promises; cudaMallocHost gives whole pages

void check_alignment(uint64_t align) {
  if (align == 0 || align > 4096 || (align & (align - 1)) != 0)
    throw sdk::Error(Code::invalid, "alignment " + std::to_string(align) + " is not a power of two up to 4096");
}

/// The raw address goes into `cookie`.
Buffer allocate_device(uint64_t bytes, uint64_t align, uint32_t ordinal) {
  const uint64_t extra = align > kRuntimeAlignment ? align - kRuntimeAlignment : 0;
  if (bytes > UINT64_MAX - extra - 1)
    throw sdk::Error(Code::out_of_memory, std::to_string(bytes) + " bytes of device memory are more than there can be");
  void* raw = nullptr;
  if (const cudaError_t e = cudaMalloc(&raw, bytes + extra == 0 ? 1 : bytes + extra); e != cudaSuccess)
    fail(e, std::to_string(bytes) + " bytes of device memory");
  const auto address = reinterpret_cast<uint64_t>(raw);
  return {reinterpret_cast<void*>((address + align - 1) / align * align), bytes, address, ordinal, Mem::device};
}

Buffer allocate_pinned(uint64_t bytes, uint64_t align, uint32_t ordinal) {
  if (const uint64_t all = sdk::host_bytes(false); bytes > (all != 0 ? all : UINT64_MAX / 2))
    throw sdk::Error(Code::out_of_memory, std::to_string(bytes) + " bytes of pinned memory asked for, the machine has " + std::to_string(all));
  void* raw = nullptr;
  if (const cudaError_t e = cudaHostAlloc(&raw, bytes + align, cudaHostAllocPortable); e != cudaSuccess)
    fail(e, std::to_string(bytes) + " bytes of pinned memory");
  const auto address = reinterpret_cast<uint64_t>(raw);
  return {reinterpret_cast<void*>((address + align - 1) / align * align), bytes, address, ordinal, Mem::pinned};
}

struct HostFill {
  void* at;
  uint64_t n;
  int byte;
};

void CUDART_CB run_host_fill(void* p) {
  const std::unique_ptr<HostFill> f(static_cast<HostFill*>(p));
  std::memset(f->at, f->byte, f->n);
}

}  // namespace

Buffer allocate(uint64_t bytes, uint64_t align, Mem m, uint32_t ordinal) {
  check_alignment(align);
  switch (m) {
    case Mem::host: return {sdk::host_alloc(bytes, align), bytes, 0, ordinal, Mem::host};
    case Mem::pinned: return allocate_pinned(bytes, align, ordinal);
    case Mem::device: return allocate_device(bytes, align, ordinal);
  }
  throw sdk::Error(Code::unsupported, "a kind of memory that this device does not have");
}

void release(const Buffer& b) noexcept {
  switch (b.mem) {
    case Mem::host: std::free(b.ptr); break;
    case Mem::pinned: cudaFreeHost(reinterpret_cast<void*>(b.cookie)); break;
    case Mem::device: cudaFree(reinterpret_cast<void*>(b.cookie)); break;
  }
}

void copy(cudaStream_t s, const Buffer& dst, uint64_t dst_off, const Buffer& src, uint64_t src_off, uint64_t n) {
  if (n == 0) return;
  check(cudaMemcpyAsync(static_cast<char*>(dst.ptr) + dst_off, static_cast<const char*>(src.ptr) + src_off, n, cudaMemcpyDefault, s),
        "copy memory");
}

/// Host memory is filled by a callback in the stream: it lives in heap memory that the callback frees, so a captured
/// fill of host memory must not be replayed, and no step has one.
void fill(cudaStream_t s, const Buffer& dst, uint64_t off, uint64_t n, uint32_t byte) {
  if (n == 0) return;
  void* at = static_cast<char*>(dst.ptr) + off;
  if (dst.mem == Mem::device) return check(cudaMemsetAsync(at, static_cast<int>(byte), n, s), "fill memory");
  auto work = std::make_unique<HostFill>(HostFill{at, n, static_cast<int>(byte)});
  check(cudaLaunchHostFunc(s, run_host_fill, work.get()), "fill of host memory");
  static_cast<void>(work.release());
}

}  // namespace convoy::cuda
