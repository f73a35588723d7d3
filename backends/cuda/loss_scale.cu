#include "loss_scale.hpp"

#include <cstring>

namespace convoy::cuda {

namespace {

constexpr int kVectors = 96;    // a launch: what fits into kernel parameters
constexpr int kThreads = 256;
constexpr int kBlocks = 64;     // for each vector: enough for the largest, idle for small ones

struct Table {
  ScaledVector v[kVectors];
};

__global__ void begin_kernel(const float* scale, LossScaleState* state, float* factor) {
  state->skip = 0;
  *factor = *scale * state->scale;
}

/// Grid: blocks of one vector by vectors.
template <bool kUnscale>
__global__ void vectors_kernel(Table table, LossScaleState* state) {
  const ScaledVector v = table.v[blockIdx.y];
  const float inverse = kUnscale ? 1.0f / state->scale : 1.0f;
  bool bad = false;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < v.count; i += stride) {
    const float x = v.data[i] * inverse;
    bad = bad || !isfinite(x);
    if (kUnscale) v.data[i] = x;
  }
  if (bad) state->skip = 1;  // many may write the same
}

__global__ void end_kernel(LossScaleState* state) {
  if (state->skip != 0) {
    state->scale = fmaxf(state->scale * 0.5f, 1.0f);
    state->good_steps = 0;
  } else if (++state->good_steps >= kGrowAfter) {
    state->scale = fminf(state->scale * 2.0f, 16777216.0f);
    state->good_steps = 0;
  }
}

template <bool kUnscale>
cudaError_t run(const ScaledVector* vectors, int n, LossScaleState* state, cudaStream_t s) {
  for (int first = 0; first < n; first += kVectors) {
    const int count = n - first < kVectors ? n - first : kVectors;
    Table table{};
    std::memcpy(table.v, vectors + first, static_cast<std::size_t>(count) * sizeof(ScaledVector));
    vectors_kernel<kUnscale><<<dim3(kBlocks, static_cast<unsigned>(count)), kThreads, 0, s>>>(table, state);
    if (const cudaError_t e = cudaGetLastError(); e != cudaSuccess) return e;
  }
  return cudaSuccess;
}

}  // namespace

std::vector<unsigned char> initial_loss_scale() {
  const LossScaleState first{0, 0, kFirstLossScale, 0};
  std::vector<unsigned char> out(sizeof first);
  std::memcpy(out.data(), &first, sizeof first);
  return out;
}

cudaError_t loss_scale_begin(const float* scale, LossScaleState* state, float* factor, cudaStream_t s) {
  begin_kernel<<<1, 1, 0, s>>>(scale, state, factor);
  return cudaGetLastError();
}

cudaError_t unscale(const ScaledVector* vectors, int n, LossScaleState* state, cudaStream_t s) { return run<true>(vectors, n, state, s); }

cudaError_t check_finite(const ScaledVector* vectors, int n, LossScaleState* state, cudaStream_t s) {
  return run<false>(vectors, n, state, s);
}

cudaError_t loss_scale_end(LossScaleState* state, cudaStream_t s) {
  end_kernel<<<1, 1, 0, s>>>(state);
  return cudaGetLastError();
}

}  // namespace convoy::cuda
