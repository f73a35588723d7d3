// Update rules over flat vectors: one pass over master, gradient and states, which also writes the 16-bit copy.
// Formulas: convoy/ops.hpp. Each element in f32; sums for norms in f64, in two stages.
#include "launch.cuh"

namespace convoy::cuda {

namespace {

constexpr int kWidth = 4;  // elements of a thread at once: 16 bytes of f32

struct Flat {
  float* p;
  void* copy;
  Type copy_type;
  int64_t count;
  const float *lr, *grad_factor;
  const int32_t* skip;
};

template <int V>
__device__ void store_copy(const Flat& f, int64_t i, const Pack<float, V>& p) {
  const auto write = [&](auto* copy) {
    Pack<std::remove_pointer_t<decltype(copy)>, V> out;
#pragma unroll
    for (int k = 0; k < V; ++k) out.set(k, p[k]);
    store(copy + i, out);
  };
  switch (f.copy_type) {
    case Type::bf16: return write(static_cast<__nv_bfloat16*>(f.copy));
    case Type::f16: return write(static_cast<__half*>(f.copy));
    default: return write(static_cast<float*>(f.copy));
  }
}

/// Rule: `states` f32 vectors and step(p, g, s), which changes s and gives the new p.
template <class Rule, class G, int V>
__device__ void update_at(const Flat& f, const G* grad, const Rule& rule, float factor, int64_t i) {
  auto p = load<float, V>(f.p + i);
  const auto g = load<G, V>(grad + i);
  Pack<float, V> s[Rule::states + 1];
#pragma unroll
  for (int j = 0; j < Rule::states; ++j) s[j] = load<float, V>(rule.state[j] + i);
#pragma unroll
  for (int k = 0; k < V; ++k) {
    float mine[Rule::states + 1];
#pragma unroll
    for (int j = 0; j < Rule::states; ++j) mine[j] = s[j].v[k];
    p.v[k] = rule.step(p.v[k], factor * g[k], mine);
#pragma unroll
    for (int j = 0; j < Rule::states; ++j) s[j].v[k] = mine[j];
  }
  store(f.p + i, p);
#pragma unroll
  for (int j = 0; j < Rule::states; ++j) store(rule.state[j] + i, s[j]);
  if (f.copy != nullptr) store_copy<V>(f, i, p);
}

template <class Rule, class G, int V>
__global__ void __launch_bounds__(kThreads) update_kernel(Flat f, const G* grad, Rule rule) {
  if (f.skip != nullptr && *f.skip != 0) return;
  const float factor = f.grad_factor != nullptr ? *f.grad_factor : 1.0f;
  rule.begin(*f.lr);
  const int64_t vectors = f.count / V, step = static_cast<int64_t>(gridDim.x) * kThreads;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  for (int64_t i = first; i < vectors; i += step) update_at<Rule, G, V>(f, grad, rule, factor, i * V);
  if (const int64_t i = vectors * V + first; i < f.count) update_at<Rule, G, 1>(f, grad, rule, factor, i);
}

template <class Rule>
bool is_wide(const UpdateArgs& a, const Rule& rule) {
  bool wide = is_aligned(a.p, kWidth * 4) && is_aligned(a.grad, kWidth * size_of(a.grad_type)) &&
              is_aligned(a.copy, kWidth * size_of(a.copy_type));
  for (int j = 0; j < Rule::states; ++j) wide = wide && is_aligned(rule.state[j], kWidth * 4);
  return wide;
}

template <class Rule>
cudaError_t update(const UpdateArgs& a, const Rule& rule, cudaStream_t stream) {
  if (a.count < 0 || (a.copy != nullptr && size_of(a.copy_type) != 2 && a.copy_type != Type::f32))
    return cudaErrorInvalidValue;
  if (a.count == 0) return cudaSuccess;
  const Flat f{a.p, a.copy, a.copy_type, a.count, a.lr, a.grad_factor, a.skip};
  return with_type(a.grad_type, [&](auto t) {
    using G = decltype(t);
    const auto* grad = static_cast<const G*>(a.grad);
    const int64_t most = multiprocessors() * 2048 / kThreads;
    const auto blocks =
        static_cast<unsigned>(std::clamp<int64_t>(ceil_div(a.count, kThreads * kWidth), 1, 4 * most));
    if (is_wide(a, rule))
      update_kernel<Rule, G, kWidth><<<blocks, kThreads, 0, stream>>>(f, grad, rule);
    else
      update_kernel<Rule, G, 1><<<blocks, kThreads, 0, stream>>>(f, grad, rule);
    return cudaGetLastError();
  });
}

// ---- rules --------------------------------------------------------------------------------------------------------

struct PlainSgd {
  static constexpr int states = 0;
  float* state[1];
  float weight_decay, lr;
  __device__ void begin(float rate) { lr = rate; }
  __device__ float step(float p, float g, float*) const { return p - lr * (g + weight_decay * p); }
};

struct MomentumSgd {
  static constexpr int states = 1;
  float* state[1];
  float weight_decay, momentum, fresh, lr;
  bool nesterov;
  __device__ void begin(float rate) { lr = rate; }
  __device__ float step(float p, float g, float* b) const {
    g += weight_decay * p;
    b[0] = momentum * b[0] + fresh * g;
    return p - lr * (nesterov ? g + momentum * b[0] : b[0]);
  }
};

struct Lars {
  static constexpr int states = 1;
  float* state[1];
  float weight_decay, momentum, lr;
  const float* local;  // made from the norms before
  __device__ void begin(float rate) { lr = rate * *local; }
  __device__ float step(float p, float g, float* b) const {
    b[0] = momentum * b[0] + lr * (g + weight_decay * p);
    return p - b[0];
  }
};

template <bool kMomentum>
struct Rmsprop {
  static constexpr int states = kMomentum ? 2 : 1;
  float* state[2];
  float alpha, rest, eps, weight_decay, momentum, lr;  // rest = 1 - alpha
  __device__ void begin(float rate) { lr = rate; }
  __device__ float step(float p, float g, float* s) const {
    g += weight_decay * p;
    s[0] = alpha * s[0] + rest * g * g;
    float d = g / (sqrtf(s[0]) + eps);
    if constexpr (kMomentum) d = s[1] = momentum * s[1] + d;
    return p - lr * d;
  }
};

struct Adamw {
  static constexpr int states = 2;
  float* state[2];
  const float* t;
  double beta1, beta2, decay;
  float b1, b2, rest1, rest2, eps, keep, lr, fix2;
  __device__ void begin(float rate) {
    b1 = static_cast<float>(beta1);
    b2 = static_cast<float>(beta2);
    rest1 = static_cast<float>(1 - beta1);
    rest2 = static_cast<float>(1 - beta2);
    keep = static_cast<float>(1 - rate * decay);
    lr = static_cast<float>(rate / (1 - pow(beta1, static_cast<double>(*t))));
    fix2 = static_cast<float>(1 / (1 - pow(beta2, static_cast<double>(*t))));
  }
  __device__ float step(float p, float g, float* s) const {
    s[0] = b1 * s[0] + rest1 * g;
    s[1] = b2 * s[1] + rest2 * g * g;
    return p * keep - lr * s[0] / (sqrtf(s[1] * fix2) + eps);
  }
};

__global__ void __launch_bounds__(kThreads)
    ema_kernel(float* shadow, const float* p, int64_t count, float decay, float rest) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step)
    shadow[i] = decay * shadow[i] + rest * p[i];
}

// ---- norms --------------------------------------------------------------------------------------------------------

constexpr int kNormBlocks = 512;  // partial sums of a vector
constexpr int kVectors = 64;      // of one launch: their addresses are its arguments

__device__ double block_sum(double v) {
  __shared__ double shared[kThreads];
  __syncthreads();
  shared[threadIdx.x] = v;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) shared[threadIdx.x] += shared[threadIdx.x + half];
  }
  __syncthreads();
  return shared[0];
}

/// The thread's sum of (x / divisor)^2 over its elements; not finite where one of them is not, since a finite f32
/// has a finite square in f64.
template <class T>
__device__ double squares(const T* x, int64_t count, double factor, bool aligned) {
  double sum = 0;
  constexpr int V = kAccessBytes / sizeof(T);
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x,
                step = static_cast<int64_t>(gridDim.x) * kThreads;
  const int64_t vectors = aligned ? count / V : 0;
#pragma unroll 2
  for (int64_t i = first; i < vectors; i += step) {
    const auto v = load<T, V>(x + i * V);
#pragma unroll
    for (int k = 0; k < V; ++k) sum += (v[k] * factor) * (v[k] * factor);
  }
  for (int64_t i = vectors * V + first; i < count; i += step)
    sum += (to_float(x[i]) * factor) * (to_float(x[i]) * factor);
  return sum;
}

struct Vectors {
  Vector one[kVectors];
};

template <class T>
__global__ void __launch_bounds__(kThreads)
    unscale_sums_kernel(Vectors all, const float* scale, double* partial) {
  const Vector& v = all.one[blockIdx.y];
  const bool aligned = reinterpret_cast<uintptr_t>(v.data) % kAccessBytes == 0;
  const double sum = block_sum(squares(static_cast<const T*>(v.data), v.count, 1.0 / *scale, aligned));
  if (threadIdx.x == 0) partial[blockIdx.y * kNormBlocks + blockIdx.x] = sum;
}

/// blocks of each vector hold sums; the other places up to kNormBlocks are not read.
__global__ void __launch_bounds__(kThreads)
    unscale_finish_kernel(const double* partial, int64_t vectors, int blocks, const float* scale,
                          double clip_norm, int32_t* not_finite, float* factor) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < vectors * blocks; i += kThreads)
    sum += partial[i / blocks * kNormBlocks + i % blocks];
  sum = block_sum(sum);
  if (threadIdx.x != 0) return;
  const bool finite = isfinite(sum) && isfinite(*scale);
  const double norm = sqrt(sum), clipped = clip_norm > 0 && norm > clip_norm ? clip_norm / norm : 1;
  *not_finite = finite ? 0 : 1;
  *factor = finite ? static_cast<float>(clipped / *scale) : 0.0f;
}

template <class G>
__global__ void __launch_bounds__(kThreads) lars_sums_kernel(const float* p, const G* grad, int64_t count,
                                                             const float* grad_factor, double* partial) {
  const double factor = grad_factor != nullptr ? *grad_factor : 1.0f;
  const bool aligned = reinterpret_cast<uintptr_t>(p) % kAccessBytes == 0 &&
                       reinterpret_cast<uintptr_t>(grad) % kAccessBytes == 0;
  const double ps = block_sum(squares(p, count, 1.0, aligned));
  const double gs = block_sum(squares(grad, count, factor, aligned));
  if (threadIdx.x != 0) return;
  partial[blockIdx.x] = ps;
  partial[kNormBlocks + blockIdx.x] = gs;
}

__global__ void __launch_bounds__(kThreads)
    lars_finish_kernel(const double* partial, int blocks, double trust, double weight_decay, double eps,
                       float* local) {
  double ps = 0, gs = 0;
  for (int i = threadIdx.x; i < blocks; i += kThreads) {
    ps += partial[i];
    gs += partial[kNormBlocks + i];
  }
  const double p = sqrt(block_sum(ps)), g = sqrt(block_sum(gs));
  if (threadIdx.x == 0)
    *local = p > 0 && g > 0 ? static_cast<float>(trust * p / (g + weight_decay * p + eps)) : 1.0f;
}

int norm_blocks(int64_t count) {
  return static_cast<int>(std::clamp<int64_t>(ceil_div(count, kThreads * 8), 1, kNormBlocks));
}

}  // namespace

cudaError_t sgd(const SgdArgs& a, cudaStream_t stream) {
  const auto decay = static_cast<float>(a.weight_decay);
  if (a.momentum_buffer == nullptr) return update(a, PlainSgd{{nullptr}, decay, 0}, stream);
  return update(a,
                MomentumSgd{{a.momentum_buffer},
                            decay,
                            static_cast<float>(a.momentum),
                            static_cast<float>(1 - a.dampening),
                            0,
                            a.nesterov},
                stream);
}

size_t lars_scratch_bytes(int64_t) { return (2 * kNormBlocks + 1) * sizeof(double); }

cudaError_t lars(const LarsArgs& a, cudaStream_t stream) {
  if (a.count < 0) return cudaErrorInvalidValue;
  if (a.count == 0) return cudaSuccess;
  auto* partial = static_cast<double*>(a.scratch);
  auto* local = reinterpret_cast<float*>(partial + 2 * kNormBlocks);
  const int blocks = norm_blocks(a.count);
  const cudaError_t made = with_type(a.grad_type, [&](auto t) {
    using G = decltype(t);
    lars_sums_kernel<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
        a.p, static_cast<const G*>(a.grad), a.count, a.grad_factor, partial);
    lars_finish_kernel<<<1, kThreads, 0, stream>>>(partial, blocks, a.trust, a.weight_decay, a.eps, local);
    return cudaGetLastError();
  });
  if (made != cudaSuccess) return made;
  return update(
      a,
      Lars{{a.momentum_buffer}, static_cast<float>(a.weight_decay), static_cast<float>(a.momentum), 0, local},
      stream);
}

cudaError_t rmsprop(const RmspropArgs& a, cudaStream_t stream) {
  const auto rule = [&](auto r) {
    r.alpha = static_cast<float>(a.alpha);
    r.rest = static_cast<float>(1 - a.alpha);
    r.eps = static_cast<float>(a.eps);
    r.weight_decay = static_cast<float>(a.weight_decay);
    r.momentum = static_cast<float>(a.momentum);
    r.state[0] = a.square_avg;
    r.state[1] = a.momentum_buffer;
    return r;
  };
  if (a.momentum_buffer == nullptr) return update(a, rule(Rmsprop<false>{}), stream);
  return update(a, rule(Rmsprop<true>{}), stream);
}

cudaError_t adamw(const AdamwArgs& a, cudaStream_t stream) {
  Adamw rule{};
  rule.state[0] = a.m;
  rule.state[1] = a.v;
  rule.t = a.t;
  rule.beta1 = a.beta1;
  rule.beta2 = a.beta2;
  rule.decay = a.weight_decay;
  rule.eps = static_cast<float>(a.eps);
  return update(a, rule, stream);
}

cudaError_t ema(const EmaArgs& a, cudaStream_t stream) {
  if (a.count < 0) return cudaErrorInvalidValue;
  if (a.count == 0) return cudaSuccess;
  const auto blocks =
      static_cast<unsigned>(std::clamp<int64_t>(ceil_div(a.count, kThreads), 1, multiprocessors() * 16));
  ema_kernel<<<blocks, kThreads, 0, stream>>>(a.shadow, a.p, a.count, static_cast<float>(a.decay),
                                              static_cast<float>(1 - a.decay));
  return cudaGetLastError();
}

size_t unscale_check_scratch_bytes(int n) {
  return static_cast<size_t>(std::max(n, 1)) * kNormBlocks * sizeof(double);
}

cudaError_t unscale_check(const UnscaleCheckArgs& a, cudaStream_t stream) {
  if (a.n < 0) return cudaErrorInvalidValue;
  int64_t longest = 0;
  for (int i = 0; i < a.n; ++i) longest = std::max(longest, a.grads[i].count);
  const int blocks = norm_blocks(longest);
  auto* partial = static_cast<double*>(a.scratch);
  for (int start = 0; start < a.n; start += kVectors) {
    Vectors some;
    const int n = std::min(kVectors, a.n - start);
    std::copy_n(a.grads + start, n, some.one);
    const cudaError_t made = with_type(a.type, [&](auto t) {
      const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>(n));
      unscale_sums_kernel<decltype(t)>
          <<<grid, kThreads, 0, stream>>>(some, a.scale, partial + static_cast<int64_t>(start) * kNormBlocks);
      return cudaGetLastError();
    });
    if (made != cudaSuccess) return made;
  }
  unscale_finish_kernel<<<1, kThreads, 0, stream>>>(partial, a.n, blocks, a.scale, a.clip_norm, a.not_finite,
                                                    a.factor);
  return cudaGetLastError();
}

}  // namespace convoy::cuda
