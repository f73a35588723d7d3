// Local response normalisation across channels and its gradient. Krizhevsky 2012, section 3.3; formulas in kernels.hpp.
// A block holds some pixels' channels, with what its windows reach beyond them, in shared memory. Nothing is kept from
// forward to backward: the sums are made again.
#include "launch.cuh"

namespace convoy::cuda {

namespace {

constexpr int kMostChannels = 128;  // of a block's own
constexpr int kMostSize = 63;       // of a window
constexpr int kFloats = 4096;       // of shared memory for x

struct Lrn {
  float alpha, beta, k;  // alpha already divided by size
  int half;
};

/// Block: `pixels` rows from `row` on, channels [channel, channel + width). Local index i is channel + i - reach.
struct LrnBlock {
  int64_t rows, c;
  int width, pixels;
  uint32_t channel_blocks;

  __device__ int64_t row() const { return static_cast<int64_t>(blockIdx.x / channel_blocks) * pixels; }
  __device__ int64_t channel() const { return static_cast<int64_t>(blockIdx.x % channel_blocks) * width; }
};

/// Calls f(local pixel, local index, row, channel) for all of the block's elements with `reach` more channels to
/// either side; what lies outside the tensor too, `inside` says which.
template <class F>
__device__ void each(const LrnBlock& b, int reach, F f) {
  const int span = b.width + 2 * reach;
  for (int i = threadIdx.x; i < b.pixels * span; i += blockDim.x) {
    const int64_t row = b.row() + i / span, channel = b.channel() + i % span - reach;
    f(i / span, i % span, row, channel, row < b.rows && channel >= 0 && channel < b.c);
  }
}

__device__ float scale_of(const Lrn& l, const float* x, int middle) {
  float sum = 0;
  for (int j = middle - l.half; j <= middle + l.half; ++j)
    sum += x[j] * x[j];  // outside the tensor are zeros
  return l.k + l.alpha * sum;
}

/// s^e for s > 0, to a few units in the last place: powf takes care of more cases and several times as long.
__device__ float power(float s, float e) { return exp2f(e * log2f(s)); }

template <class T>
__global__ void __launch_bounds__(kThreads) lrn_kernel(Pixels<const T> x, Pixels<T> y, Lrn l, LrnBlock b) {
  __shared__ float shared[kFloats];
  const int span = b.width + 2 * l.half;
  each(b, l.half, [&](int pixel, int i, int64_t row, int64_t channel, bool inside) {
    shared[pixel * span + i] = inside ? to_float(*x.at(row, channel)) : 0.0f;
  });
  __syncthreads();
  each(b, 0, [&](int pixel, int i, int64_t row, int64_t channel, bool inside) {
    if (!inside) return;
    const float* mine = shared + pixel * span;
    *y.at(row, channel) = from_float<T>(mine[i + l.half] * power(scale_of(l, mine, i + l.half), -l.beta));
  });
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    lrn_grad_kernel(Pixels<const T> x, Pixels<const T> dy, Pixels<T> dx, Lrn l, LrnBlock b) {
  __shared__ float shared[kFloats];  // x, with 2 half to either side
  __shared__ float terms[kFloats];   // dy x s^(-beta-1), with half
  const int span = b.width + 4 * l.half, term_span = b.width + 2 * l.half;
  each(b, 2 * l.half, [&](int pixel, int i, int64_t row, int64_t channel, bool inside) {
    shared[pixel * span + i] = inside ? to_float(*x.at(row, channel)) : 0.0f;
  });
  __syncthreads();
  each(b, l.half, [&](int pixel, int i, int64_t row, int64_t channel, bool inside) {
    float term = 0;
    if (inside) {
      const float* mine = shared + pixel * span;
      term = to_float(*dy.at(row, channel)) * mine[i + l.half] *
             power(scale_of(l, mine, i + l.half), -l.beta - 1);
    }
    terms[pixel * term_span + i] = term;
  });
  __syncthreads();
  each(b, 0, [&](int pixel, int i, int64_t row, int64_t channel, bool inside) {
    if (!inside) return;
    const float* mine = shared + pixel * span;
    const int middle = i + 2 * l.half;
    float sum = 0;
    for (int j = i; j <= i + 2 * l.half; ++j) sum += terms[pixel * term_span + j];
    const float straight = to_float(*dy.at(row, channel)) * power(scale_of(l, mine, middle), -l.beta);
    *dx.at(row, channel) = from_float<T>(straight - 2 * l.alpha * l.beta * mine[middle] * sum);
  });
}

template <class F>
cudaError_t over_blocks(const LrnArgs& a, F launch) {
  const Survey s(a.type, a.c, {a.x, a.dy, a.y});
  if (!s.fits || a.rows < 0 || a.size < 1 || a.size % 2 == 0 || a.size > kMostSize)
    return cudaErrorInvalidValue;
  if (a.rows == 0 || a.c == 0) return cudaSuccess;
  const Lrn l{static_cast<float>(a.alpha / a.size), static_cast<float>(a.beta), static_cast<float>(a.k),
              a.size / 2};
  LrnBlock b{a.rows, a.c, static_cast<int>(std::min<int64_t>(a.c, kMostChannels)), 0, 0};
  b.pixels = kFloats / (b.width + 4 * l.half);
  b.pixels = static_cast<int>(std::clamp<int64_t>(2048 / b.width, 1, b.pixels));  // 8 elements a thread
  b.channel_blocks = static_cast<uint32_t>(ceil_div(a.c, b.width));
  const int64_t blocks = ceil_div(a.rows, b.pixels) * b.channel_blocks;
  if (blocks > kIndexLimit) return cudaErrorInvalidValue;
  return with_type(a.type, [&](auto t) {
    launch(t, l, b, static_cast<unsigned>(blocks));
    return cudaGetLastError();
  });
}

}  // namespace

cudaError_t lrn(const LrnArgs& a, cudaStream_t stream) {
  return over_blocks(a, [&](auto t, const Lrn& l, const LrnBlock& b, unsigned blocks) {
    using T = decltype(t);
    lrn_kernel<T><<<blocks, kThreads, 0, stream>>>(pixels<T>(a.x, a.c), pixels<T>(a.y, a.c), l, b);
  });
}

cudaError_t lrn_grad(const LrnArgs& a, cudaStream_t stream) {
  if (a.dy.data == nullptr) return cudaErrorInvalidValue;
  return over_blocks(a, [&](auto t, const Lrn& l, const LrnBlock& b, unsigned blocks) {
    using T = decltype(t);
    lrn_grad_kernel<T><<<blocks, kThreads, 0, stream>>>(pixels<T>(a.x, a.c), pixels<T>(a.dy, a.c),
                                                        pixels<T>(a.y, a.c), l, b);
  });
}

}  // namespace convoy::cuda
