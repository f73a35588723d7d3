// Batch normalisation: moments, application with what follows it (+ add)(+ relu), and the gradient of all of that.
// Ioffe and Szegedy 2015, section 3; conventions in convoy/ops.hpp. Bytes, u = one tensor: forward 3u (+ u for add),
// gradient 5u (+ u for dadd). The second pass over a tensor walks backwards: the end of the first is still in the L2.
#include "column_sums.cuh"

namespace convoy::cuda {

namespace {

constexpr int kRows = 4;      // of a thread at once
constexpr int kGradRows = 2;  // where up to four tensors are read

enum class Gate { none, mask, output };  // what says where a relu let through

/// A thread's place in a mask: one byte for V elements.
__device__ int64_t mask_index(int64_t row, int64_t channel, int64_t c, int V) {
  return (row * c + channel) / V;
}

/// Rows [row, row + kR blockDim.y) by steps of blockDim.y for each tile of this block; the last tile first if
/// `backwards`.
template <int kR, class F>
__device__ void each_tile(const Place& at, int64_t rows, bool backwards, F f) {
  const int64_t height = static_cast<int64_t>(blockDim.y) * kR, tiles = (rows + height - 1) / height;
  for (int64_t t = at.row_block; t < tiles; t += at.row_blocks)
    f((backwards ? tiles - 1 - t : t) * height + threadIdx.y);
}

template <int V>
__device__ void read(float (&v)[V], const float* from, int64_t channel) {
#pragma unroll
  for (int k = 0; k < V; ++k) v[k] = from[channel + k];
}

// ---- moments --------------------------------------------------------------------------------------------------

template <class A>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    batch_norm_sums_kernel(Pixels<const typename A::Element> x, int64_t rows, int64_t c,
                           uint32_t column_blocks, float* partial) {
  using T = typename A::Element;
  constexpr int V = A::width;
  const Place at(c, V, column_blocks);
  float sum[2][V] = {};
  if (at.inside) {
    const auto origin = load<T, V>(x.at(0, at.channel));
    each_tile<kRows>(at, rows, false, [&](int64_t first) {
      typename A::Packed in[kRows];
#pragma unroll
      for (int u = 0; u < kRows; ++u)
        if (const int64_t row = first + u * blockDim.y; row < rows) in[u] = load<T, V>(x.at(row, at.channel));
#pragma unroll
      for (int u = 0; u < kRows; ++u)
        if (first + u * blockDim.y < rows)
#pragma unroll
          for (int k = 0; k < V; ++k) {
            const float off = in[u][k] - origin[k];
            sum[0][k] += off;
            sum[1][k] += off * off;
          }
    });
  }
  write_partial_sums(sum, at, c, partial);
}

/// What becomes of a channel's moments.
struct Moments {
  float *mean, *inv_std;
  const float *running_mean, *running_var;
  float *new_running_mean, *new_running_var;
  double rows, eps, momentum;

  __device__ void write(int64_t channel, double m, double var) const {
    mean[channel] = static_cast<float>(m);
    inv_std[channel] = static_cast<float>(1 / sqrt(var + eps));
    if (new_running_mean == nullptr) return;
    const double unbiased = rows > 1 ? var * rows / (rows - 1) : var;
    new_running_mean[channel] = static_cast<float>((1 - momentum) * running_mean[channel] + momentum * m);
    new_running_var[channel] =
        static_cast<float>((1 - momentum) * running_var[channel] + momentum * unbiased);
  }
};

template <class T>
__global__ void __launch_bounds__(kLanes* kLanes)
    batch_norm_moments_kernel(const float* partial, int64_t row_blocks, int64_t c, Pixels<const T> x,
                              Moments out) {
  const int64_t channel = static_cast<int64_t>(blockIdx.x) * kLanes + threadIdx.x;
  double sum[2];
  add_partial_sums(partial, row_blocks, c, channel, sum);
  if (threadIdx.y != 0 || channel >= c) return;
  const double off = sum[0] / out.rows, var = sum[1] / out.rows - off * off;
  out.write(channel, off + to_float(x.p[channel]), var < 0 ? 0 : var);  // a NaN stays one
}

__global__ void batch_norm_finalize_kernel(const float* sum, const float* squares, int64_t c, Moments out) {
  const int64_t channel = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (channel >= c) return;
  const double mean = sum[channel] / out.rows, var = squares[channel] / out.rows - mean * mean;
  out.write(channel, mean, var < 0 ? 0 : var);
}

// ---- application ------------------------------------------------------------------------------------------------

struct ApplyParameters {
  const float *gamma, *beta, *mean, *inv_std, *var;
  float eps;
};

template <class A, bool kAdd>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    batch_norm_apply_kernel(Pixels<const typename A::Element> x, ApplyParameters parameters,
                            Pixels<const typename A::Element> add, bool relu, uint8_t* mask,
                            Pixels<typename A::Element> y, int64_t rows, int64_t c, uint32_t column_blocks) {
  using T = typename A::Element;
  constexpr int V = A::width;
  constexpr int kR = kAdd ? kGradRows : kRows;
  const Place at(c, V, column_blocks);
  if (!at.inside) return;
  float mean[V], scale[V], beta[V];
  read(mean, parameters.mean, at.channel);
  read(beta, parameters.beta, at.channel);
#pragma unroll
  for (int k = 0; k < V; ++k) {
    const float inv_std = parameters.inv_std != nullptr
                              ? parameters.inv_std[at.channel + k]
                              : 1.0f / sqrtf(parameters.var[at.channel + k] + parameters.eps);
    scale[k] = parameters.gamma[at.channel + k] * inv_std;
  }
  each_tile<kR>(at, rows, true, [&](int64_t first) {
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
        unsigned bits = 0;
#pragma unroll
        for (int k = 0; k < V; ++k) {
          float v = (in[u][k] - mean[k]) * scale[k] + beta[k];
          if constexpr (kAdd) v += more[u][k];
          in[u].set(k, relu ? relu_of(v) : v);
          bits |= in[u][k] > 0 ? 1u << k : 0u;
        }
        store(y.at(row, at.channel), in[u]);
        if (mask != nullptr) mask[mask_index(row, at.channel, c, V)] = static_cast<uint8_t>(bits);
      }
  });
}

// ---- gradient -----------------------------------------------------------------------------------------------------

/// The gradient that reaches the normalisation's output: (dy + dy2) where the relu let through.
template <class A, bool kTwo, Gate kGate>
struct Arriving {
  using T = typename A::Element;
  Pixels<const T> dy, dy2, y;
  const uint8_t* mask;
  int64_t c;

  struct Raw {
    typename A::Packed dy, dy2, y;
    unsigned bits;
  };
  __device__ Raw read(int64_t row, int64_t channel) const {
    Raw r;
    r.dy = load<T, A::width>(dy.at(row, channel));
    if constexpr (kTwo) r.dy2 = load<T, A::width>(dy2.at(row, channel));
    if constexpr (kGate == Gate::mask) r.bits = mask[mask_index(row, channel, c, A::width)];
    if constexpr (kGate == Gate::output) r.y = load<T, A::width>(y.at(row, channel));
    return r;
  }
  __device__ static float value(const Raw& r, int k) {
    float d = r.dy[k];
    if constexpr (kTwo) d += r.dy2[k];
    if constexpr (kGate == Gate::mask) d = (r.bits >> k & 1u) != 0 ? d : 0.0f;
    if constexpr (kGate == Gate::output) d = r.y[k] > 0 ? d : 0.0f;
    return d;
  }
};

template <class A, bool kTwo, Gate kGate>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    batch_norm_grad_sums_kernel(Arriving<A, kTwo, kGate> arriving, Pixels<const typename A::Element> x,
                                const float* means, Pixels<typename A::Element> dadd, int64_t rows, int64_t c,
                                uint32_t column_blocks, float* partial) {
  using T = typename A::Element;
  constexpr int V = A::width;
  const Place at(c, V, column_blocks);
  float sum[2][V] = {};
  if (at.inside) {
    float mean[V];
    read(mean, means, at.channel);
    each_tile<kGradRows>(at, rows, false, [&](int64_t first) {
      typename Arriving<A, kTwo, kGate>::Raw raw[kGradRows];
      typename A::Packed in[kGradRows];
#pragma unroll
      for (int u = 0; u < kGradRows; ++u)
        if (const int64_t row = first + u * blockDim.y; row < rows) {
          raw[u] = arriving.read(row, at.channel);
          in[u] = load<T, V>(x.at(row, at.channel));
        }
#pragma unroll
      for (int u = 0; u < kGradRows; ++u)
        if (const int64_t row = first + u * blockDim.y; row < rows) {
          typename A::Packed out;
#pragma unroll
          for (int k = 0; k < V; ++k) {
            const float value = arriving.value(raw[u], k);
            const float d = dadd.p != nullptr ? rounded<T>(value) : value;  // what the second pass will see
            out.set(k, value);
            sum[0][k] += d;
            sum[1][k] += d * (in[u][k] - mean[k]);
          }
          if (dadd.p != nullptr) store(dadd.at(row, at.channel), out);
        }
    });
  }
  write_partial_sums(sum, at, c, partial);
}

/// dbeta and dgamma, and the second pass's coefficients: dx = a d + b (x - mean) + shift, in coefficients[3][c].
__global__ void __launch_bounds__(kLanes* kLanes)
    batch_norm_grad_finish_kernel(const float* partial, int64_t row_blocks, int64_t c, double rows,
                                  const float* gamma, const float* inv_std, float* dgamma, float* dbeta,
                                  float* coefficients) {
  const int64_t channel = static_cast<int64_t>(blockIdx.x) * kLanes + threadIdx.x;
  double sum[2];
  add_partial_sums(partial, row_blocks, c, channel, sum);
  if (threadIdx.y != 0 || channel >= c) return;
  const double s = inv_std[channel], scale = gamma[channel] * s;
  dbeta[channel] = static_cast<float>(sum[0]);
  dgamma[channel] = static_cast<float>(sum[1] * s);
  coefficients[channel] = static_cast<float>(scale);
  coefficients[c + channel] = static_cast<float>(-scale * s * s * sum[1] / rows);
  coefficients[2 * c + channel] = static_cast<float>(-scale * sum[0] / rows);
}

template <class A, bool kTwo, Gate kGate>
__global__ void __launch_bounds__(kThreads, kBlocksPerSm)
    batch_norm_grad_apply_kernel(Arriving<A, kTwo, kGate> arriving, Pixels<const typename A::Element> x,
                                 const float* means, const float* coefficients,
                                 Pixels<typename A::Element> dx, int64_t rows, int64_t c,
                                 uint32_t column_blocks) {
  using T = typename A::Element;
  constexpr int V = A::width;
  const Place at(c, V, column_blocks);
  if (!at.inside) return;
  float mean[V], a[V], b[V], shift[V];
  read(mean, means, at.channel);
  read(a, coefficients, at.channel);
  read(b, coefficients + c, at.channel);
  read(shift, coefficients + 2 * c, at.channel);
  each_tile<kGradRows>(at, rows, true, [&](int64_t first) {
    typename Arriving<A, kTwo, kGate>::Raw raw[kGradRows];
    typename A::Packed in[kGradRows];
#pragma unroll
    for (int u = 0; u < kGradRows; ++u)
      if (const int64_t row = first + u * blockDim.y; row < rows) {
        raw[u] = arriving.read(row, at.channel);
        in[u] = load<T, V>(x.at(row, at.channel));
      }
#pragma unroll
    for (int u = 0; u < kGradRows; ++u)
      if (const int64_t row = first + u * blockDim.y; row < rows) {
#pragma unroll
        for (int k = 0; k < V; ++k)
          in[u].set(k, a[k] * arriving.value(raw[u], k) + (b[k] * (in[u][k] - mean[k]) + shift[k]));
        store(dx.at(row, at.channel), in[u]);
      }
  });
}

template <class A, bool kTwo, Gate kGate>
cudaError_t grad(const BatchNormGradArgs& a, cudaStream_t stream) {
  using T = typename A::Element;
  const int64_t c = a.c;
  const Columns sums = Columns(a.rows, c, A::width, kGradRows).for_sums(a.rows);
  const Columns cut(a.rows, c, A::width, kGradRows);
  const auto column_blocks = static_cast<uint32_t>(cut.column_blocks);
  auto* partial = static_cast<float*>(a.scratch);
  float* coefficients = partial + 2 * c * Columns::row_block_limit(a.rows);
  const Arriving<A, kTwo, kGate> arriving{pixels<T>(a.dy, c), pixels<T>(a.dy2, c), pixels<T>(a.y, c), a.mask,
                                          c};
  const auto x = pixels<T>(a.x, c);
  batch_norm_grad_sums_kernel<<<sums.grid(), sums.block(), 0, stream>>>(
      arriving, x, a.saved_mean, pixels<T>(a.dadd, c), a.rows, c, column_blocks, partial);
  batch_norm_grad_finish_kernel<<<second_stage_grid(c), second_stage_block(), 0, stream>>>(
      partial, sums.row_blocks, c, static_cast<double>(a.rows), a.gamma, a.saved_inv_std, a.dgamma, a.dbeta,
      coefficients);
  if (a.dadd.data != nullptr) {  // holds what arrived, summed and gated
    const auto dadd = pixels<T>(In{a.dadd.data, a.dadd.ld}, c);
    batch_norm_grad_apply_kernel<<<cut.grid(), cut.block(), 0, stream>>>(
        Arriving<A, false, Gate::none>{dadd, {}, {}, nullptr, c}, x, a.saved_mean, coefficients,
        pixels<T>(a.dx, c), a.rows, c, column_blocks);
  } else {
    batch_norm_grad_apply_kernel<<<cut.grid(), cut.block(), 0, stream>>>(
        arriving, x, a.saved_mean, coefficients, pixels<T>(a.dx, c), a.rows, c, column_blocks);
  }
  return cudaGetLastError();
}

template <class A, bool kTwo>
cudaError_t gated_grad(const BatchNormGradArgs& a, cudaStream_t stream) {
  if (a.mask != nullptr) return grad<A, kTwo, Gate::mask>(a, stream);
  if (a.y.data != nullptr) return grad<A, kTwo, Gate::output>(a, stream);
  return grad<A, kTwo, Gate::none>(a, stream);
}

// ---- folding ------------------------------------------------------------------------------------------------------

struct Fold {
  const float *w, *bias, *gamma, *beta, *mean, *var;
  float eps;
  int64_t per_output;
};

template <class W, class B>
__global__ void __launch_bounds__(kThreads) fold_batch_norm_kernel(Fold f, W* w_out, B* bias_out) {
  const int64_t k = blockIdx.x;
  const float scale = f.gamma[k] / sqrtf(f.var[k] + f.eps);
  for (int64_t i = threadIdx.x; i < f.per_output; i += blockDim.x)
    w_out[k * f.per_output + i] = from_float<W>(f.w[k * f.per_output + i] * scale);
  if (threadIdx.x != 0) return;
  const float bias = f.bias != nullptr ? f.bias[k] : 0.0f;
  bias_out[k] = from_float<B>((bias - f.mean[k]) * scale + f.beta[k]);
}

Moments moments_of(const BatchNormStatisticsArgs& a) {
  return {a.saved_mean,
          a.saved_inv_std,
          a.running_mean,
          a.running_var,
          a.new_running_mean,
          a.new_running_var,
          static_cast<double>(a.rows),
          a.eps,
          a.momentum};
}

/// A mask's layout hangs on c alone, so memory has to follow.
bool mask_fits(const Survey& s, Type type, int64_t c) {
  return s.wide || c % (kAccessBytes / size_of(type)) != 0;
}

}  // namespace

size_t batch_norm_mask_bytes(int64_t rows, int64_t c, Type type) {
  const int64_t width = kAccessBytes / size_of(type);
  return static_cast<size_t>(c % width == 0 ? rows * c / width : rows * c);
}

size_t batch_norm_statistics_scratch_bytes(int64_t rows, int64_t c) { return partial_sums_bytes(rows, c, 2); }

cudaError_t batch_norm_statistics(const BatchNormStatisticsArgs& a, cudaStream_t stream) {
  const Survey s(a.type, a.c, {a.x});
  if (!s.fits || a.rows < 0) return cudaErrorInvalidValue;
  if (a.rows == 0 || a.c == 0) return cudaSuccess;
  return with_access(a.type, s.wide, [&](auto access) {
    using A = decltype(access);
    using T = typename A::Element;
    const Columns cut = Columns(a.rows, a.c, A::width, kRows).for_sums(a.rows);
    auto* partial = static_cast<float*>(a.scratch);
    batch_norm_sums_kernel<A><<<cut.grid(), cut.block(), 0, stream>>>(
        pixels<T>(a.x, a.c), a.rows, a.c, static_cast<uint32_t>(cut.column_blocks), partial);
    batch_norm_moments_kernel<T><<<second_stage_grid(a.c), second_stage_block(), 0, stream>>>(
        partial, cut.row_blocks, a.c, pixels<T>(a.x, a.c), moments_of(a));
    return cudaGetLastError();
  });
}

cudaError_t batch_norm_finalize(const float* sum, const float* squares, const BatchNormStatisticsArgs& a,
                                cudaStream_t stream) {
  if (a.rows <= 0 || a.c < 0) return cudaErrorInvalidValue;
  if (a.c == 0) return cudaSuccess;
  const auto blocks = static_cast<unsigned>(ceil_div(a.c, kThreads));
  batch_norm_finalize_kernel<<<blocks, kThreads, 0, stream>>>(sum, squares, a.c, moments_of(a));
  return cudaGetLastError();
}

cudaError_t batch_norm_apply(const BatchNormApplyArgs& a, cudaStream_t stream) {
  const Survey s(a.type, a.c, {a.x, a.add, a.y});
  if (!s.fits || a.rows < 0 || (a.inv_std == nullptr) == (a.var == nullptr)) return cudaErrorInvalidValue;
  if (a.mask != nullptr && !mask_fits(s, a.type, a.c)) return cudaErrorInvalidValue;
  if (a.rows == 0 || a.c == 0) return cudaSuccess;
  const ApplyParameters parameters{a.gamma, a.beta, a.mean, a.inv_std, a.var, static_cast<float>(a.eps)};
  return with_access(a.type, s.wide, [&](auto access) {
    using A = decltype(access);
    using T = typename A::Element;
    const bool adds = a.add.data != nullptr;
    const Columns cut(a.rows, a.c, A::width, adds ? kGradRows : kRows);
    const auto kernel = adds ? batch_norm_apply_kernel<A, true> : batch_norm_apply_kernel<A, false>;
    kernel<<<cut.grid(), cut.block(), 0, stream>>>(pixels<T>(a.x, a.c), parameters, pixels<T>(a.add, a.c),
                                                   a.relu, a.mask, pixels<T>(a.y, a.c), a.rows, a.c,
                                                   static_cast<uint32_t>(cut.column_blocks));
    return cudaGetLastError();
  });
}

size_t batch_norm_grad_scratch_bytes(int64_t rows, int64_t c) {
  return partial_sums_bytes(rows, c, 2) + static_cast<size_t>(3 * c) * sizeof(float);
}

cudaError_t batch_norm_grad(const BatchNormGradArgs& a, cudaStream_t stream) {
  const Survey s(a.type, a.c, {a.dy, a.dy2, a.x, a.y, a.dx, a.dadd});
  if (!s.fits || a.rows < 0) return cudaErrorInvalidValue;
  if (a.mask != nullptr && !mask_fits(s, a.type, a.c)) return cudaErrorInvalidValue;
  if (a.rows == 0 || a.c == 0) return cudaSuccess;
  return with_access(a.type, s.wide, [&](auto access) {
    using A = decltype(access);
    return a.dy2.data != nullptr ? gated_grad<A, true>(a, stream) : gated_grad<A, false>(a, stream);
  });
}

cudaError_t fold_batch_norm(const FoldBatchNormArgs& a, cudaStream_t stream) {
  if (a.k < 0 || a.per_output < 0 || a.k > kIndexLimit) return cudaErrorInvalidValue;
  if (a.k == 0) return cudaSuccess;
  const Fold f{a.w, a.bias, a.gamma, a.beta, a.mean, a.var, static_cast<float>(a.eps), a.per_output};
  return with_type(a.w_type, [&](auto w) {
    return with_type(a.bias_type, [&](auto b) {
      using W = decltype(w);
      using B = decltype(b);
      fold_batch_norm_kernel<<<static_cast<unsigned>(a.k), kThreads, 0, stream>>>(
          f, static_cast<W*>(a.w_out), static_cast<B*>(a.bias_out));
      return cudaGetLastError();
    });
  });
}

}  // namespace convoy::cuda
