// Memory of the three kinds as the border's buffers, copies and fills between them.
// Not an arena: that is planned while compiling.
#pragma once

#include <convoy/abi.hpp>

#include <cuda_runtime_api.h>

namespace convoy::cuda {

/// The calling thread's device is the one meant. Errors: out_of_memory, with nothing allocated; invalid alignment.
Buffer allocate(uint64_t bytes, uint64_t align, Mem m, uint32_t ordinal);
void release(const Buffer& b) noexcept;

/// Any kinds; enqueues only, but for copies that touch pageable host memory.
void copy(cudaStream_t s, const Buffer& dst, uint64_t dst_off, const Buffer& src, uint64_t src_off, uint64_t n);
void fill(cudaStream_t s, const Buffer& dst, uint64_t off, uint64_t n, uint32_t byte);

}  // namespace convoy::cuda
