// Sums over all pixels for each channel, in two stages and always in the same order: blocks write partial sums, a
// second kernel adds them in f64. No atomics. Cutting into blocks is launch.cuh's Columns.
#pragma once

#include "launch.cuh"

namespace convoy::cuda {

/// Stage one's end: the block's sums of S values over its rows go to partial[row_block][s][channel].
template <int V, int S>
__device__ void write_partial_sums(const float (&sum)[S][V], const Place& at, int64_t c, float* partial) {
  __shared__ float shared[V * kThreads];  // [k][y][x]
  const unsigned tx = blockDim.x, ty = blockDim.y, me = threadIdx.y * tx + threadIdx.x;
  const int64_t first = at.channel - static_cast<int64_t>(threadIdx.x) * V;
#pragma unroll
  for (int s = 0; s < S; ++s) {
    __syncthreads();
#pragma unroll
    for (int k = 0; k < V; ++k) shared[k * tx * ty + me] = sum[s][k];
    __syncthreads();
    for (unsigned j = me; j < tx * V; j += tx * ty) {
      const unsigned k = j / tx, x = j % tx;
      float total = 0;
      for (unsigned y = 0; y < ty; ++y) total += shared[(k * ty + y) * tx + x];
      if (const int64_t channel = first + x * V + k; channel < c)
        partial[(static_cast<int64_t>(at.row_block) * S + s) * c + channel] = total;
    }
  }
}

constexpr int kLanes = 32;  // stage two: blocks of kLanes channels by kLanes strands of row blocks

inline dim3 second_stage_grid(int64_t c) { return dim3(static_cast<unsigned>(ceil_div(c, kLanes))); }
inline dim3 second_stage_block() { return dim3(kLanes, kLanes); }

/// Stage two: the sums of the thread's channel, complete where threadIdx.y is 0. All threads of a block call it.
template <int S>
__device__ void add_partial_sums(const float* partial, int64_t row_blocks, int64_t c, int64_t channel,
                                 double (&total)[S]) {
  __shared__ double shared[S][kLanes][kLanes];
#pragma unroll
  for (int s = 0; s < S; ++s) {
    double sum = 0;
    if (channel < c)
#pragma unroll 8
      for (int64_t b = threadIdx.y; b < row_blocks; b += kLanes) sum += partial[(b * S + s) * c + channel];
    shared[s][threadIdx.y][threadIdx.x] = sum;
  }
  __syncthreads();
  if (threadIdx.y != 0) return;
#pragma unroll
  for (int s = 0; s < S; ++s) {
    total[s] = 0;
    for (int y = 0; y < kLanes; ++y) total[s] += shared[s][y][threadIdx.x];
  }
}

inline size_t partial_sums_bytes(int64_t rows, int64_t c, int sums) {
  return static_cast<size_t>(Columns::row_block_limit(rows) * c * sums) * sizeof(float);
}

}  // namespace convoy::cuda
