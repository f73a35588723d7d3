// Host side of a launch: choosing the element type and width, and cutting pixels by channels into blocks.
// No kernels in here.
#pragma once

#include "access.cuh"

#include <algorithm>
#include <initializer_list>
#include <limits>

namespace convoy::cuda {

constexpr int kThreads = 256;  // per block, nearly everywhere
constexpr int kBlocksPerSm =
    3;  // of kThreads at once: leaves 80 registers, and their accesses fill the memory
constexpr int kAccessBytes = 16;
constexpr int64_t kIndexLimit = std::numeric_limits<int32_t>::max();  // Divisor's, and a grid's

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
inline int64_t ld_of(int64_t ld, int64_t c) { return ld == 0 ? c : ld; }

template <class T>
Pixels<const T> pixels(const In& x, int64_t c) {
  return {static_cast<const T*>(x.data), static_cast<int32_t>(ld_of(x.ld, c))};
}
template <class T>
Pixels<T> pixels(const Out& y, int64_t c) {
  return {static_cast<T*>(y.data), static_cast<int32_t>(ld_of(y.ld, c))};
}

/// A tensor's address and distance, whichever way it goes.
struct Memory {
  Memory(const In& x) : data(x.data), ld(x.ld) {}
  Memory(const Out& y) : data(y.data), ld(y.ld) {}
  const void* data;
  int64_t ld;
};

inline bool is_aligned(const void* p, int64_t bytes) { return reinterpret_cast<uintptr_t>(p) % bytes == 0; }

/// What all tensors of a launch have in common; absent ones are left out.
struct Survey {
  Survey(Type type, int64_t c, std::initializer_list<Memory> all) {
    const int64_t elements = kAccessBytes / size_of(type);
    for (const Memory& m : all) see(m, c, elements);
    wide = aligned && even && c % elements == 0;
  }

  void join(const Survey& s) {
    fits = fits && s.fits;
    packed = packed && s.packed;
    aligned = aligned && s.aligned;
    even = even && s.even;
    wide = wide && s.wide;
  }

  bool fits = true;     // no row overlaps the next, and their distance is one of Pixels'
  bool packed = true;   // no gaps: one long row
  bool aligned = true;  // begins at 16 bytes
  bool even = true;     // so do all rows
  bool wide = false;    // all rows can be read 16 bytes at a time

 private:
  void see(const Memory& m, int64_t c, int64_t elements) {
    if (m.data == nullptr) return;
    const int64_t ld = ld_of(m.ld, c);
    fits = fits && ld >= c && c >= 0 && ld <= kIndexLimit;
    packed = packed && ld == c;
    aligned = aligned && is_aligned(m.data, kAccessBytes);
    even = even && ld % elements == 0;
  }
};

/// Calls f(T{}) with the floating-point type.
template <class F>
cudaError_t with_type(Type t, F f) {
  switch (t) {
    case Type::f32: return f(float{});
    case Type::bf16: return f(__nv_bfloat16{});
    case Type::f16: return f(__half{});
    default: return cudaErrorInvalidValue;
  }
}
/// Calls f(Access{}) with 16-byte accesses or single elements.
template <class F>
cudaError_t with_access(Type t, bool wide, F f) {
  return with_type(t, [&](auto v) {
    using T = decltype(v);
    return wide ? f(Access<T, kAccessBytes / sizeof(T)>{}) : f(Access<T, 1>{});
  });
}

inline int64_t multiprocessors() {
  int device = 0, n = 0;
  if (cudaGetDevice(&device) != cudaSuccess) return 1;
  if (cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) return 1;
  return std::max(1, n);
}

/// Pixels by channels in blocks where a thread keeps its channels, so that what belongs to them stays in registers.
/// A block is tx vectors of channels by ty rows, and walks over the rows in steps of gridDim rows of blocks; blocks
/// with the same rows are neighbours.
struct Columns {
  Columns(int64_t rows, int64_t c, int width, int unroll) {
    const int64_t vectors = c / width;
    column_blocks = ceil_div(vectors, kColumns);
    tx = ceil_div(vectors, column_blocks);
    ty = kThreads / tx;
    const int64_t tiles = ceil_div(rows, ty * unroll);
    row_blocks = std::clamp<int64_t>(multiprocessors() * kBlocksPerSm / column_blocks, 1, tiles);
  }
  /// For two-stage sums: fewer blocks, so that their partial sums are few beside the data. At most row_block_limit().
  Columns& for_sums(int64_t rows) {
    row_blocks = std::min(row_blocks, row_block_limit(rows));
    return *this;
  }
  static int64_t row_block_limit(int64_t rows) {
    return std::clamp<int64_t>(rows / kRowsPerSum, 1, kSumLimit);
  }

  dim3 grid() const { return dim3(static_cast<unsigned>(row_blocks * column_blocks)); }
  dim3 block() const { return dim3(static_cast<unsigned>(tx), static_cast<unsigned>(ty)); }

  static constexpr int64_t kColumns = 32;  // a warp's width: 512 bytes of a row
  static constexpr int64_t kRowsPerSum =
      64;  // partial sums (8 bytes) are 1/16 of the rows they stand for, or less
  static constexpr int64_t kSumLimit = 1024;
  int64_t column_blocks, row_blocks, tx, ty;
};

/// A thread's place in Columns.
struct Place {
  __device__ Place(int64_t c, int width, uint32_t column_blocks)
      : row_block(blockIdx.x / column_blocks), row_blocks(gridDim.x / column_blocks) {
    const uint32_t vector = blockIdx.x % column_blocks * blockDim.x + threadIdx.x;
    channel = static_cast<int64_t>(vector) * width;
    inside = channel < c;
  }
  uint32_t row_block, row_blocks;
  int64_t channel;
  bool inside;  // the last block may hang over
};

}  // namespace convoy::cuda
