// Copies of channel ranges: concat along channels, and slice. Along other axes they are the same with longer rows.
#include "launch.cuh"

namespace convoy::cuda {

namespace {

constexpr int kUnroll = 4;  // accesses of a thread in flight

struct Copies {
  struct One {
    const char* x;
    char* y;
    int64_t x_ld, y_ld;  // bytes
    Divisor columns;
    uint32_t count;  // accesses
  };
  One one[kMaxSources];
};

/// blockIdx.y says which source; element types do not matter, only how many bytes can be moved at once.
template <class Word>
__global__ void __launch_bounds__(kThreads) copy_kernel(Copies copies) {
  const Copies::One& m = copies.one[blockIdx.y];
  const uint32_t first = blockIdx.x * (kThreads * kUnroll) + threadIdx.x;
  Word word[kUnroll];
  char* to[kUnroll];
#pragma unroll
  for (int u = 0; u < kUnroll; ++u)
    if (uint32_t row = first + u * kThreads; row < m.count) {
      const int64_t column = m.columns.split(row) * sizeof(Word);
      word[u] = *reinterpret_cast<const Word*>(m.x + row * m.x_ld + column);
      to[u] = m.y + row * m.y_ld + column;
    }
#pragma unroll
  for (int u = 0; u < kUnroll; ++u)
    if (first + u * kThreads < m.count) *reinterpret_cast<Word*>(to[u]) = word[u];
}

/// The most bytes that one access may move for every source.
int64_t word_bytes(const ConcatArgs& a) {
  const int64_t size = size_of(a.type);
  int64_t bytes = kAccessBytes, start = 0;
  for (int i = 0; i < a.n; ++i) {
    const int64_t parts[] = {reinterpret_cast<intptr_t>(a.x[i].data), ld_of(a.x[i].ld, a.c[i]) * size,
                             a.c[i] * size, reinterpret_cast<intptr_t>(a.y.data) + start * size,
                             a.y.ld * size};
    for (int64_t part : parts)
      while (part % bytes != 0) bytes /= 2;
    start += a.c[i];
  }
  return bytes;
}

template <class Word>
cudaError_t launch(const ConcatArgs& a, cudaStream_t stream) {
  const int64_t size = size_of(a.type);
  Copies copies;
  int64_t most = 0, start = 0;
  for (int i = 0; i < a.n; ++i) {
    const int64_t columns = a.c[i] * size / static_cast<int64_t>(sizeof(Word)), count = a.rows * columns;
    if (count > kIndexLimit) return cudaErrorInvalidValue;
    copies.one[i] = {static_cast<const char*>(a.x[i].data),  static_cast<char*>(a.y.data) + start * size,
                     ld_of(a.x[i].ld, a.c[i]) * size,        a.y.ld * size,
                     Divisor(std::max<int64_t>(1, columns)), static_cast<uint32_t>(count)};
    most = std::max(most, count);
    start += a.c[i];
  }
  if (most == 0) return cudaSuccess;
  const dim3 grid(static_cast<unsigned>(ceil_div(most, kThreads * kUnroll)), static_cast<unsigned>(a.n));
  copy_kernel<Word><<<grid, kThreads, 0, stream>>>(copies);
  return cudaGetLastError();
}

}  // namespace

cudaError_t concat(const ConcatArgs& given, cudaStream_t stream) {
  ConcatArgs a = given;
  if (a.n < 1 || a.n > kMaxSources || a.rows < 0) return cudaErrorInvalidValue;
  int64_t c = 0;
  for (int i = 0; i < a.n; ++i) {
    if (a.c[i] < 0 || (a.x[i].ld != 0 && a.x[i].ld < a.c[i])) return cudaErrorInvalidValue;
    c += a.c[i];
  }
  a.y.ld = ld_of(a.y.ld, c);
  if (a.y.ld < c) return cudaErrorInvalidValue;
  switch (word_bytes(a)) {
    case 16: return launch<uint4>(a, stream);
    case 8: return launch<uint2>(a, stream);
    case 4: return launch<uint32_t>(a, stream);
    case 2: return launch<uint16_t>(a, stream);
    default: return launch<uint8_t>(a, stream);
  }
}

cudaError_t copy_channels(const CopyArgs& a, cudaStream_t stream) {
  ConcatArgs one;
  one.x[0] = a.x;
  one.c[0] = a.c;
  one.n = 1;
  one.y = a.y;
  one.type = a.type;
  one.rows = a.rows;
  return concat(one, stream);
}

}  // namespace convoy::cuda
