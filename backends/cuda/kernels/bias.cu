// A bias for each channel, with what often follows it, and its gradient. Not BatchNorm's shift: batch_norm.cu.
#include "column_sums.cuh"

namespace convoy::cuda {

namespace {

constexpr int kRows = 4;     // of a thread at once
constexpr int kAddRows = 2;  // where two tensors are read

template <class A, bool kAdd>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    bias_add_kernel(Pixels<const typename A::Element> x, const float* bias,
                    Pixels<const typename A::Element> add, bool relu, Pixels<typename A::Element> y,
                    int64_t rows, int64_t c, uint32_t column_blocks) {
  using T = typename A::Element;
  constexpr int V = A::width;
  constexpr int kR = kAdd ? kAddRows : kRows;
  const Place at(c, V, column_blocks);
  if (!at.inside) return;
  float b[V];
#pragma unroll
  for (int k = 0; k < V; ++k) b[k] = bias[at.channel + k];
  const int64_t step = static_cast<int64_t>(at.row_blocks) * blockDim.y * kR;
  for (int64_t first = static_cast<int64_t>(at.row_block) * blockDim.y * kR + threadIdx.y; first < rows;
       first += step) {
    typename A::Packed in[kR], more[kR];
#pragma unroll
    for (int u = 0; u < kR; ++u)
      if (const int64_t row = first + u * blockDim.y; row < rows) {
        in[u] = load<T, V>(x.at(row, at.channel));
        if constexpr (kAdd) more[u] = load<T, V>(add.at(row, at.channel));
      }
#pragma unroll
    for (int u = 0; u < kR; ++u)
      if (const int64_t row = first + u * blockDim.y; row < rows) {
#pragma unroll
        for (int k = 0; k < V; ++k) {
          float v = in[u][k] + b[k];
          if constexpr (kAdd) v += more[u][k];
          in[u].set(k, relu ? relu_of(v) : v);
        }
        store(y.at(row, at.channel), in[u]);
      }
  }
}

template <class A>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    bias_grad_kernel(Pixels<const typename A::Element> dy, Pixels<const typename A::Element> y,
                     Pixels<typename A::Element> dx, int64_t rows, int64_t c, uint32_t column_blocks,
                     float* partial) {
  using T = typename A::Element;
  constexpr int V = A::width;
  const Place at(c, V, column_blocks);
  float sum[1][V] = {};
  const int64_t step = static_cast<int64_t>(at.row_blocks) * blockDim.y * kRows;
  for (int64_t first = static_cast<int64_t>(at.row_block) * blockDim.y * kRows + threadIdx.y;
       at.inside && first < rows; first += step) {
    typename A::Packed d[kRows], gate[kRows];
#pragma unroll
    for (int u = 0; u < kRows; ++u)
      if (const int64_t row = first + u * blockDim.y; row < rows) {
        d[u] = load<T, V>(dy.at(row, at.channel));
        if (y.p != nullptr) gate[u] = load<T, V>(y.at(row, at.channel));
      }
#pragma unroll
    for (int u = 0; u < kRows; ++u)
      if (const int64_t row = first + u * blockDim.y; row < rows) {
#pragma unroll
        for (int k = 0; k < V; ++k) {
          if (y.p != nullptr && !(gate[u][k] > 0)) d[u].set(k, 0);
          sum[0][k] += d[u][k];
        }
        if (dx.p != nullptr) store(dx.at(row, at.channel), d[u]);
      }
  }
  write_partial_sums(sum, at, c, partial);
}

__global__ void __launch_bounds__(kLanes* kLanes)
    bias_sums_kernel(const float* partial, int64_t row_blocks, int64_t c, float* dbias) {
  const int64_t channel = static_cast<int64_t>(blockIdx.x) * kLanes + threadIdx.x;
  double sum[1];
  add_partial_sums(partial, row_blocks, c, channel, sum);
  if (threadIdx.y == 0 && channel < c) dbias[channel] = static_cast<float>(sum[0]);
}

}  // namespace

cudaError_t bias_add(const BiasAddArgs& a, cudaStream_t stream) {
  const Survey s(a.type, a.c, {a.x, a.add, a.y});
  if (!s.fits || a.rows < 0) return cudaErrorInvalidValue;
  if (a.rows == 0 || a.c == 0) return cudaSuccess;
  return with_access(a.type, s.wide, [&](auto access) {
    using A = decltype(access);
    using T = typename A::Element;
    const bool adds = a.add.data != nullptr;
    const Columns cut(a.rows, a.c, A::width, adds ? kAddRows : kRows);
    const auto kernel = adds ? bias_add_kernel<A, true> : bias_add_kernel<A, false>;
    kernel<<<cut.grid(), cut.block(), 0, stream>>>(pixels<T>(a.x, a.c), a.bias, pixels<T>(a.add, a.c), a.relu,
                                                   pixels<T>(a.y, a.c), a.rows, a.c,
                                                   static_cast<uint32_t>(cut.column_blocks));
    return cudaGetLastError();
  });
}

size_t bias_grad_scratch_bytes(int64_t rows, int64_t c) { return partial_sums_bytes(rows, c, 1); }

cudaError_t bias_grad(const BiasGradArgs& a, cudaStream_t stream) {
  const Survey s(a.type, a.c, {a.dy, a.y, a.dx});
  if (!s.fits || a.rows < 0) return cudaErrorInvalidValue;
  if (a.c == 0) return cudaSuccess;
  if (a.rows == 0) return fill({a.dbias, Type::f32, a.c, 0}, stream);
  return with_access(a.type, s.wide, [&](auto access) {
    using A = decltype(access);
    using T = typename A::Element;
    const Columns cut = Columns(a.rows, a.c, A::width, kRows).for_sums(a.rows);
    auto* partial = static_cast<float*>(a.scratch);
    bias_grad_kernel<A><<<cut.grid(), cut.block(), 0, stream>>>(
        pixels<T>(a.dy, a.c), pixels<T>(a.y, a.c), pixels<T>(a.dx, a.c), a.rows, a.c,
        static_cast<uint32_t>(cut.column_blocks), partial);
    bias_sums_kernel<<<second_stage_grid(a.c), second_stage_block(), 0, stream>>>(partial, cut.row_blocks,
                                                                                  a.c, a.dbias);
    return cudaGetLastError();
  });
}

}  // namespace convoy::cuda
