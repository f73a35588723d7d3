// Softmax and cross entropy with hit counts, and the gradient. A block is a sample; a second kernel adds up the batch.
// Formulas and what counts: convoy/ops.hpp.
#include "launch.cuh"

#include <cmath>

namespace convoy::cuda {

namespace {

/// What a sample leaves for the batch.
struct Sample {
  double loss;
  int32_t counted, top1, top5, pad;
};

template <class V, class F>
__device__ V block_reduce(V v, F join) {
  __shared__ V shared[kThreads / 32];
#pragma unroll
  for (int step = 16; step > 0; step /= 2) v = join(v, __shfl_xor_sync(0xffffffffu, v, step));
  __syncthreads();  // the last call's readers are through
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = v;
  __syncthreads();
  v = shared[0];
  for (int w = 1; w < kThreads / 32; ++w) v = join(v, shared[w]);
  return v;
}

struct Plus {
  template <class V>
  __device__ V operator()(V a, V b) const {
    return a + b;
  }
};
struct Largest {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    softmax_xent_kernel(Pixels<const T> logits, const int32_t* labels, float* probs, int64_t k,
                        float smoothing, Sample* samples) {
  const int64_t n = blockIdx.x;
  const T* row = logits.at(n, 0);
  float largest = -INFINITY;
  for (int64_t i = threadIdx.x; i < k; i += kThreads) largest = fmaxf(largest, to_float(row[i]));
  largest = block_reduce(largest, Largest{});
  float sum = 0, all = 0;  // of exp(x - largest); of x - largest, for the smoothed targets
  for (int64_t i = threadIdx.x; i < k; i += kThreads) {
    const float x = to_float(row[i]) - largest;
    sum += expf(x);
    all += x;
  }
  sum = block_reduce(sum, Plus{});
  all = block_reduce(all, Plus{});
  const int32_t label = labels[n];
  const bool valid = label >= 0 && label < k;
  const float mine = valid ? to_float(row[label]) : 0.0f, log_sum = logf(sum);
  int before = 0;  // classes that come before the label
  for (int64_t i = threadIdx.x; i < k; i += kThreads) {
    const float x = to_float(row[i]);
    probs[n * k + i] = expf(x - largest - log_sum);
    before += x > mine || (x == mine && i < label) ? 1 : 0;
  }
  before = block_reduce(before, Plus{});
  if (threadIdx.x != 0) return;
  Sample s{0, label >= 0 ? 1 : 0, 0, 0, 0};
  if (valid) {
    // -sum of t log p = (1 - s)(log_sum - (x_label - largest)) + s (log_sum - mean of (x - largest))
    s.loss = (1 - smoothing) * static_cast<double>(log_sum - (mine - largest));
    if (smoothing != 0) s.loss += smoothing * (static_cast<double>(log_sum) - static_cast<double>(all) / k);
    const bool hit = mine == mine;
    s.top1 = hit && before < 1 ? 1 : 0;
    s.top5 = hit && before < 5 ? 1 : 0;
  } else if (label >= 0) {
    s.loss = NAN;
  }
  samples[n] = s;
}

__global__ void __launch_bounds__(kThreads)
    softmax_xent_sums_kernel(const Sample* samples, int64_t n, float* loss, int32_t* top1, int32_t* top5) {
  double sum = 0;
  int counted = 0, first = 0, five = 0;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) {
    sum += samples[i].loss;
    counted += samples[i].counted;
    first += samples[i].top1;
    five += samples[i].top5;
  }
  sum = block_reduce(sum, Plus{});
  counted = block_reduce(counted, Plus{});
  first = block_reduce(first, Plus{});
  five = block_reduce(five, Plus{});
  if (threadIdx.x != 0) return;
  *loss = static_cast<float>(sum / max(counted, 1));
  if (top1 != nullptr) *top1 = first;
  if (top5 != nullptr) *top5 = five;
}

/// Every block counts the labels for itself: a batch of them is less than a row of logits.
template <class T>
__global__ void __launch_bounds__(kThreads)
    softmax_xent_grad_kernel(const float* probs, const int32_t* labels, const float* scale, Pixels<T> dlogits,
                             int64_t n, int64_t k, float smoothing) {
  int counted = 0;
  for (int64_t i = threadIdx.x; i < n; i += kThreads) counted += labels[i] >= 0 ? 1 : 0;
  counted = block_reduce(counted, Plus{});
  const float factor = *scale / static_cast<float>(max(counted, 1)), rest = smoothing / static_cast<float>(k);
  const int64_t sample = blockIdx.x;
  const int32_t label = labels[sample];
  for (int64_t i = threadIdx.x; i < k; i += kThreads) {
    const float target = (i == label ? 1 - smoothing : 0.0f) + rest;
    *dlogits.at(sample, i) = from_float<T>(label < 0 ? 0.0f : factor * (probs[sample * k + i] - target));
  }
}

}  // namespace

size_t softmax_xent_scratch_bytes(int64_t n) { return static_cast<size_t>(n) * sizeof(Sample); }

cudaError_t softmax_xent(const SoftmaxXentArgs& a, cudaStream_t stream) {
  if (a.n < 0 || a.k < 1 || a.n > kIndexLimit || !Survey(a.type, a.k, {a.logits}).fits)
    return cudaErrorInvalidValue;
  auto* samples = static_cast<Sample*>(a.scratch);
  return with_type(a.type, [&](auto t) {
    using T = decltype(t);
    if (a.n > 0)
      softmax_xent_kernel<T><<<static_cast<unsigned>(a.n), kThreads, 0, stream>>>(
          pixels<T>(a.logits, a.k), a.labels, a.probs, a.k, static_cast<float>(a.label_smoothing), samples);
    softmax_xent_sums_kernel<<<1, kThreads, 0, stream>>>(samples, a.n, a.loss, a.top1, a.top5);
    return cudaGetLastError();
  });
}

cudaError_t softmax_xent_grad(const SoftmaxXentGradArgs& a, cudaStream_t stream) {
  if (a.n < 0 || a.k < 1 || a.n > kIndexLimit || !Survey(a.type, a.k, {a.dlogits}).fits)
    return cudaErrorInvalidValue;
  if (a.n == 0) return cudaSuccess;
  return with_type(a.type, [&](auto t) {
    using T = decltype(t);
    softmax_xent_grad_kernel<T><<<static_cast<unsigned>(a.n), kThreads, 0, stream>>>(
        a.probs, a.labels, a.scale, pixels<T>(a.dlogits, a.k), a.n, a.k,
        static_cast<float>(a.label_smoothing));
    return cudaGetLastError();
  });
}

}  // namespace convoy::cuda
