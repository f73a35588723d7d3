// Element by element: relu, its gradient, add, weighted sums. What a channel has of its own is in bias.cu and
// batch_norm.cu.
#include "launch.cuh"

namespace convoy::cuda {

namespace {

template <class T, int N>
struct Sources {
  Pixels<const T> x[N];
};

/// Vectors of `width` elements: `columns` to a row, and `tail` single elements behind the last (packed tensors only,
/// which are one row).
struct Extent {
  uint32_t vectors, tail;
  Divisor columns;
  bool one_row;
};

template <class A>
__device__ int64_t offset(const Extent& e, uint32_t i, int64_t ld) {
  if (e.one_row) return static_cast<int64_t>(i) * A::width;
  uint32_t row = i;
  const uint32_t column = e.columns.split(row);
  return row * ld + static_cast<int64_t>(column) * A::width;
}

/// Vectors a thread, so that about four accesses are in flight.
template <int N>
constexpr int kUnroll = N <= 2 ? 4 : 2;

/// y = f(x0, x1, ...), U vectors a thread: all loads stand before the first use.
template <class A, int N, class F>
__global__ void __launch_bounds__(kThreads)
    map_kernel(Sources<typename A::Element, N> in, Pixels<typename A::Element> y, Extent e, F f) {
  using T = typename A::Element;
  constexpr int U = kUnroll<N>;
  const uint32_t first = blockIdx.x * (kThreads * U) + threadIdx.x;
  typename A::Packed x[U][N];
#pragma unroll
  for (int u = 0; u < U; ++u)
    if (const uint32_t i = first + u * kThreads; i < e.vectors)
#pragma unroll
      for (int s = 0; s < N; ++s) x[u][s] = load<T, A::width>(in.x[s].p + offset<A>(e, i, in.x[s].ld));
#pragma unroll
  for (int u = 0; u < U; ++u)
    if (const uint32_t i = first + u * kThreads; i < e.vectors) {
      typename A::Packed out;
#pragma unroll
      for (int k = 0; k < A::width; ++k) {
        float v[N];
#pragma unroll
        for (int s = 0; s < N; ++s) v[s] = x[u][s][k];
        out.set(k, f(v));
      }
      store(y.p + offset<A>(e, i, y.ld), out);
    }
  if (first < e.tail) {
    const int64_t i = static_cast<int64_t>(e.vectors) * A::width + first;
    float v[N];
    for (int s = 0; s < N; ++s) v[s] = to_float(in.x[s].p[i]);
    y.p[i] = from_float<T>(f(v));
  }
}

template <int N>
Survey survey(Type type, int64_t c, const In (&in)[N], const Out& y) {
  Survey all(type, c, {y});
  for (const In& x : in) all.join(Survey(type, c, {x}));
  return all;
}

template <int N, class F>
cudaError_t map(Type type, int64_t rows, int64_t c, const In (&in)[N], const Out& y, F f,
                cudaStream_t stream) {
  const Survey s = survey(type, c, in, y);
  if (!s.fits || rows < 0) return cudaErrorInvalidValue;
  if (rows == 0 || c == 0) return cudaSuccess;
  return with_access(type, s.packed ? s.aligned : s.wide, [&](auto access) {
    using A = decltype(access);
    using T = typename A::Element;
    Sources<T, N> sources;
    for (int i = 0; i < N; ++i) sources.x[i] = pixels<T>(in[i], c);
    const int64_t total = rows * c, vectors = total / A::width;
    if (vectors > kIndexLimit) return cudaErrorInvalidValue;
    const Extent e{static_cast<uint32_t>(vectors), static_cast<uint32_t>(total % A::width),
                   Divisor(s.packed ? 1 : c / A::width), s.packed};
    const int64_t blocks = std::max<int64_t>(1, ceil_div(vectors, kThreads * kUnroll<N>));
    map_kernel<A, N><<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(sources, pixels<T>(y, c), e, f);
    return cudaGetLastError();
  });
}

struct Relu {
  __device__ float operator()(const float (&x)[1]) const { return relu_of(x[0]); }
};
struct ReluGrad {  // dy, y
  __device__ float operator()(const float (&x)[2]) const { return x[1] > 0 ? x[0] : 0.0f; }
};
struct ReluGradOfSum {  // dy, y, dy2
  __device__ float operator()(const float (&x)[3]) const { return x[1] > 0 ? x[0] + x[2] : 0.0f; }
};
struct ReluGradAdd {  // dy, y, after
  __device__ float operator()(const float (&x)[3]) const { return (x[1] > 0 ? x[0] : 0.0f) + x[2]; }
};
struct ReluGradOfSumAdd {  // dy, y, dy2, after
  __device__ float operator()(const float (&x)[4]) const { return (x[1] > 0 ? x[0] + x[2] : 0.0f) + x[3]; }
};
struct Add {
  bool relu;
  __device__ float operator()(const float (&x)[2]) const {
    const float sum = x[0] + x[1];
    return relu ? relu_of(sum) : sum;
  }
};
template <int N>
struct Weighted {
  float weight[N];
  __device__ float operator()(const float (&x)[N]) const {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < N; ++i) sum += weight[i] * x[i];
    return sum;
  }
};

template <int N>
cudaError_t weighted(const WeightedSumArgs& a, cudaStream_t stream) {
  if (a.n != N) {
    if constexpr (N < kMaxSources) return weighted<N + 1>(a, stream);
    return cudaErrorInvalidValue;
  }
  Weighted<N> f;
  In x[N];
  for (int i = 0; i < N; ++i) {
    f.weight[i] = a.weight[i];
    x[i] = a.x[i];
  }
  return map<N>(a.type, a.rows, a.c, x, a.y, f, stream);
}

}  // namespace

cudaError_t relu(const ReluArgs& a, cudaStream_t stream) {
  return map<1>(a.type, a.rows, a.c, {a.x}, a.y, Relu{}, stream);
}

cudaError_t relu_grad(const ReluGradArgs& a, cudaStream_t stream) {
  if (a.dy2.data != nullptr && a.after.data != nullptr)
    return map<4>(a.type, a.rows, a.c, {a.dy, a.y, a.dy2, a.after}, a.dx, ReluGradOfSumAdd{}, stream);
  if (a.dy2.data != nullptr)
    return map<3>(a.type, a.rows, a.c, {a.dy, a.y, a.dy2}, a.dx, ReluGradOfSum{}, stream);
  if (a.after.data != nullptr)
    return map<3>(a.type, a.rows, a.c, {a.dy, a.y, a.after}, a.dx, ReluGradAdd{}, stream);
  return map<2>(a.type, a.rows, a.c, {a.dy, a.y}, a.dx, ReluGrad{}, stream);
}

cudaError_t add(const AddArgs& a, cudaStream_t stream) {
  return map<2>(a.type, a.rows, a.c, {a.a, a.b}, a.y, Add{a.relu}, stream);
}

cudaError_t weighted_sum(const WeightedSumArgs& a, cudaStream_t stream) { return weighted<1>(a, stream); }

}  // namespace convoy::cuda
