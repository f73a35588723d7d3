// Pooling over windows and over whole planes, and the gradients. Every kernel gathers: a thread owns some channels
// of a pixel, or of a few, of its result, so that nothing is added atomically. Window rules: convoy/ops.hpp.
#include "launch.cuh"

namespace convoy::cuda {

namespace {

/// A flat index is ((n rows + row) columns + column) vectors + vector.
struct Flat {
  Divisor vectors, columns, rows;
  uint32_t count;
};
struct FlatPlace {
  __device__ FlatPlace(const Flat& f, uint32_t i, int width) {
    channel = static_cast<int64_t>(f.vectors.split(i)) * width;
    pixel = static_cast<int>(i);
    column = static_cast<int>(f.columns.split(i));
    row = static_cast<int>(f.rows.split(i));
    n = static_cast<int>(i);
  }
  int64_t channel;
  int pixel, n, row, column;
};

struct Window {
  explicit Window(const PoolShape& s)
      : h(static_cast<int>(s.h)),
        w(static_cast<int>(s.w)),
        p(static_cast<int>(s.p)),
        q(static_cast<int>(s.q)),
        r(s.window[0]),
        s(s.window[1]),
        stride_h(s.stride[0]),
        stride_w(s.stride[1]),
        top(s.pad_lo[0]),
        left(s.pad_lo[1]),
        bottom(s.pad_hi[0]),
        right(s.pad_hi[1]),
        by_stride_h(s.stride[0]),
        by_stride_w(s.stride[1]),
        include_pad(s.count_include_pad) {}
  int h, w, p, q, r, s, stride_h, stride_w, top, left, bottom, right;
  Divisor by_stride_h, by_stride_w;
  bool include_pad;
};

/// Where an output position's window lies along one axis: [begin, end) inside the input, `padded` long with padding.
struct Span {
  __device__ Span(int out, int stride, int window, int lo, int hi, int input) : start(out * stride - lo) {
    const int stop = min(start + window, input + hi);
    padded = stop - start;
    begin = max(start, 0);
    end = min(stop, input);
  }
  int start, begin, end, padded;
};
__device__ Span rows_of(const Window& d, int p) { return {p, d.stride_h, d.r, d.top, d.bottom, d.h}; }
__device__ Span columns_of(const Window& d, int q) { return {q, d.stride_w, d.s, d.left, d.right, d.w}; }

/// Output positions [begin, end) whose windows hold an input position.
struct Holders {
  __device__ Holders(int input, const Divisor& stride, int window, int lo, int outputs) {
    const int at = input + lo;
    begin = at < window ? 0 : static_cast<int>(stride.quotient(static_cast<uint32_t>(at - window))) + 1;
    end = min(static_cast<int>(stride.quotient(static_cast<uint32_t>(at))) + 1, outputs);
  }
  int begin, end;
};
__device__ Holders row_holders(const Window& d, int h) { return {h, d.by_stride_h, d.r, d.top, d.p}; }
__device__ Holders column_holders(const Window& d, int w) { return {w, d.by_stride_w, d.s, d.left, d.q}; }

__device__ bool wins(float v, float best) { return v > best || (v != v && best == best); }

// ---- max ------------------------------------------------------------------------------------------------------------

/// The largest so far and where it was, of V channels. A NaN is not looked for while walking, only noticed: `odd`.
template <class T, int V>
struct Best {
  __device__ void begin(int where) {
#pragma unroll
    for (int k = 0; k < V; ++k) {
      best[k] = -INFINITY;
      index[k] = where;
    }
  }
  __device__ void see(const Pack<T, V>& v, int where) {
#pragma unroll
    for (int k = 0; k < V; ++k) {
      nan = nan || v[k] != v[k];
      if (v[k] > best[k]) {
        best[k] = v[k];
        index[k] = where;
      }
    }
  }
  __device__ bool odd() const { return nan; }
  __device__ float value(int k) const { return best[k]; }
  __device__ int place(int k) const { return index[k]; }

  float best[V];
  int index[V];
  bool nan = false;
};

__device__ uint32_t greater_mask(__nv_bfloat16, uint32_t a, uint32_t b) {
  return __hgt2_mask(*reinterpret_cast<__nv_bfloat162*>(&a), *reinterpret_cast<__nv_bfloat162*>(&b));
}
__device__ uint32_t greater_mask(__half, uint32_t a, uint32_t b) {
  return __hgt2_mask(*reinterpret_cast<__half2*>(&a), *reinterpret_cast<__half2*>(&b));
}
__device__ uint32_t unordered_mask(__nv_bfloat16, uint32_t a) {
  const auto v = *reinterpret_cast<__nv_bfloat162*>(&a);
  return __hneu2_mask(v, v);
}
__device__ uint32_t unordered_mask(__half, uint32_t a) {
  const auto v = *reinterpret_cast<__half2*>(&a);
  return __hneu2_mask(v, v);
}
__device__ uint32_t lowest_pair(__nv_bfloat16) { return 0xff80ff80u; }  // minus infinity
__device__ uint32_t lowest_pair(__half) { return 0xfc00fc00u; }

/// 16-bit types two to the word: a comparison gives a mask, which picks values and places.
template <class T, int V>
requires(sizeof(T) == 2 && V >= 2) struct Best<T, V> {
  __device__ void begin(int where) {
#pragma unroll
    for (int i = 0; i < V / 2; ++i) {
      best.w[i] = lowest_pair(T{});
      index[i] = static_cast<uint32_t>(where) * 0x10001u;
    }
  }
  __device__ void see(const Pack<T, V>& v, int where) {
    const uint32_t both = static_cast<uint32_t>(where) * 0x10001u;
#pragma unroll
    for (int i = 0; i < V / 2; ++i) {
      const uint32_t m = greater_mask(T{}, v.w[i], best.w[i]);
      best.w[i] = (v.w[i] & m) | (best.w[i] & ~m);
      index[i] = (both & m) | (index[i] & ~m);
      nan |= unordered_mask(T{}, v.w[i]);
    }
  }
  __device__ bool odd() const { return nan != 0; }
  __device__ float value(int k) const { return best[k]; }
  __device__ int place(int k) const {
    return static_cast<int>(k % 2 == 0 ? index[k / 2] & 0xffffu : index[k / 2] >> 16);
  }

  Pack<T, V> best;
  uint32_t index[V / 2], nan = 0;
};

/// NaN is rare: a second walk, one channel at a time.
template <class T>
__device__ void search(const Pixels<const T>& x, const Window& d, int n, const Span& rows,
                       const Span& columns, int64_t channel, float& best, int& place) {
  for (int h = rows.begin; h < rows.end; ++h)
    for (int w = columns.begin; w < columns.end; ++w) {
      const float v = to_float(*x.at((n * d.h + h) * d.w + w, channel));
      if ((h == rows.begin && w == columns.begin) || wins(v, best)) {
        best = v;
        place = (h - rows.start) * d.s + (w - columns.start);
      }
    }
}

template <class A>
__global__ void __launch_bounds__(kThreads)
    max_pool_kernel(Pixels<const typename A::Element> x, Pixels<typename A::Element> y, uint8_t* argmax,
                    bool relu, Window d, Flat flat, int64_t c) {
  using T = typename A::Element;
  constexpr int V = A::width;
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= flat.count) return;
  const FlatPlace at(flat, i, V);
  const Span rows = rows_of(d, at.row), columns = columns_of(d, at.column);
  Best<T, V> best;
  best.begin((rows.begin - rows.start) * d.s + columns.begin - columns.start);
  for (int h = rows.begin; h < rows.end; ++h) {
#pragma unroll 3
    for (int w = columns.begin; w < columns.end; ++w)
      best.see(load<T, V>(x.at((at.n * d.h + h) * d.w + w, at.channel)),
               (h - rows.start) * d.s + (w - columns.start));
  }
  Pack<T, V> out;
  Pack<uint8_t, V> where;
#pragma unroll
  for (int k = 0; k < V; ++k) {
    float value = best.value(k);
    int place = best.place(k);
    if (best.odd()) search(x, d, at.n, rows, columns, at.channel + k, value, place);
    out.set(k, relu ? relu_of(value) : value);
    where.v[k] = static_cast<uint8_t>(place);
  }
  store(y.at(at.pixel, at.channel), out);
  if (argmax != nullptr) store(argmax + static_cast<int64_t>(at.pixel) * c + at.channel, where);
}

/// Without argmax: each window that holds the element is searched again. One channel a thread.
template <class T>
__global__ void __launch_bounds__(kThreads)
    max_pool_search_grad_kernel(Pixels<const T> dy, Pixels<const T> x, Pixels<T> dx, Window d, Flat flat) {
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= flat.count) return;
  const FlatPlace at(flat, i, 1);
  const Holders ps = row_holders(d, at.row), qs = column_holders(d, at.column);
  const auto in = [&](int h, int w) { return to_float(*x.at((at.n * d.h + h) * d.w + w, at.channel)); };
  float sum = 0;
  for (int p = ps.begin; p < ps.end; ++p)
    for (int q = qs.begin; q < qs.end; ++q) {
      const Span rows = rows_of(d, p), columns = columns_of(d, q);
      int best_h = rows.begin, best_w = columns.begin;
      float best = in(best_h, best_w);
      for (int h = rows.begin; h < rows.end; ++h)
        for (int w = columns.begin; w < columns.end; ++w)
          if (const float v = in(h, w); wins(v, best)) {
            best = v;
            best_h = h;
            best_w = w;
          }
      if (best_h == at.row && best_w == at.column)
        sum += to_float(*dy.at((at.n * d.p + p) * d.q + q, at.channel));
    }
  *dx.at(at.pixel, at.channel) = from_float<T>(sum);
}

// ---- average ----------------------------------------------------------------------------------------------------------

__device__ float share(const Window& d, const Span& rows, const Span& columns) {
  const int elements =
      d.include_pad ? rows.padded * columns.padded : (rows.end - rows.begin) * (columns.end - columns.begin);
  return __fdividef(1.0f,
                    static_cast<float>(elements));  // of a small integer: right to a unit in the last place
}

template <class A>
__global__ void __launch_bounds__(kThreads)
    avg_pool_kernel(Pixels<const typename A::Element> x, Pixels<typename A::Element> y, Window d, Flat flat) {
  using T = typename A::Element;
  constexpr int V = A::width;
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= flat.count) return;
  const FlatPlace at(flat, i, V);
  const Span rows = rows_of(d, at.row), columns = columns_of(d, at.column);
  float sum[V] = {};
  for (int h = rows.begin; h < rows.end; ++h) {
#pragma unroll 3
    for (int w = columns.begin; w < columns.end; ++w) {
      const auto in = load<T, V>(x.at((at.n * d.h + h) * d.w + w, at.channel));
#pragma unroll
      for (int k = 0; k < V; ++k) sum[k] += in[k];
    }
  }
  const float factor = share(d, rows, columns);
  Pack<T, V> out;
#pragma unroll
  for (int k = 0; k < V; ++k) out.set(k, sum[k] * factor);
  store(y.at(at.pixel, at.channel), out);
}

// ---- gradients of both -------------------------------------------------------------------------------------------------

/// What an output pixel gives, and to which tap of its window. Made ready once for all the pixels that ask.
template <class A>
struct ToMaximum {
  using T = typename A::Element;
  static constexpr int V = A::width;
  Pixels<const T> dy;
  const uint8_t* argmax;
  int64_t c;

  struct Given {
    float value[V];
    int where[V];
    __device__ float to(int k, int tap) const { return where[k] == tap ? value[k] : 0.0f; }
  };
  __device__ Given read(const Window&, int, int, int pixel, int64_t channel) const {
    const auto raw = load<T, V>(dy.at(pixel, channel));
    const auto places = load<uint8_t, V>(argmax + static_cast<int64_t>(pixel) * c + channel);
    Given given;
#pragma unroll
    for (int k = 0; k < V; ++k) {
      given.value[k] = raw[k];
      given.where[k] = places.v[k];
    }
    return given;
  }
};

template <class A>
struct ToAll {
  using T = typename A::Element;
  static constexpr int V = A::width;
  Pixels<const T> dy;

  struct Given {
    float value[V];
    __device__ float to(int k, int tap) const { return tap >= 0 ? value[k] : 0.0f; }
  };
  __device__ Given read(const Window& d, int p, int q, int pixel, int64_t channel) const {
    const auto raw = load<T, V>(dy.at(pixel, channel));
    const float factor = share(d, rows_of(d, p), columns_of(d, q));
    Given given;
#pragma unroll
    for (int k = 0; k < V; ++k) given.value[k] = raw[k] * factor;
    return given;
  }
};

constexpr int kOutside = -1;  // no tap
constexpr int kSide = 2;      // a thread owns kSide x kSide input pixels: they share most of their windows

template <class A, class Source>
__global__ void __launch_bounds__(kThreads)
    pool_grad_kernel(Source source, Pixels<typename A::Element> dx, Window d, Flat tiles) {
  using T = typename A::Element;
  constexpr int V = A::width;
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= tiles.count) return;
  const FlatPlace at(tiles, i, V);
  const int top = at.row * kSide, left = at.column * kSide;
  const int p_begin = row_holders(d, top).begin, p_end = row_holders(d, min(top + kSide, d.h) - 1).end;
  const int q_begin = column_holders(d, left).begin,
            q_end = column_holders(d, min(left + kSide, d.w) - 1).end;
  float sum[kSide][kSide][V] = {};
  for (int p = p_begin; p < p_end; ++p) {
#pragma unroll 2
    for (int q = q_begin; q < q_end; ++q) {
      const auto given = source.read(d, p, q, (at.n * d.p + p) * d.q + q, at.channel);
      const int r0 = top - (p * d.stride_h - d.top), s0 = left - (q * d.stride_w - d.left);
#pragma unroll
      for (int y = 0; y < kSide; ++y)
#pragma unroll
        for (int x = 0; x < kSide; ++x) {
          const bool inside = static_cast<unsigned>(r0 + y) < static_cast<unsigned>(d.r) &&
                              static_cast<unsigned>(s0 + x) < static_cast<unsigned>(d.s);
          const int tap = inside ? (r0 + y) * d.s + s0 + x : kOutside;
#pragma unroll
          for (int k = 0; k < V; ++k) sum[y][x][k] += given.to(k, tap);
        }
    }
  }
#pragma unroll
  for (int y = 0; y < kSide; ++y)
#pragma unroll
    for (int x = 0; x < kSide; ++x) {
      if (top + y >= d.h || left + x >= d.w) continue;
      Pack<T, V> out;
#pragma unroll
      for (int k = 0; k < V; ++k) out.set(k, sum[y][x][k]);
      store(dx.at((at.n * d.h + top + y) * d.w + left + x, at.channel), out);
    }
}

// ---- whole planes -----------------------------------------------------------------------------------------------------

/// A block is one sample's `blockDim.x` vectors of channels; blockDim.y strands share the pixels.
template <class A>
__global__ void __launch_bounds__(kThreads)
    global_avg_pool_kernel(Pixels<const typename A::Element> x, Pixels<typename A::Element> y, int64_t area,
                           int64_t c, uint32_t column_blocks) {
  using T = typename A::Element;
  constexpr int V = A::width;
  __shared__ float shared[V][kThreads];
  const int64_t n = blockIdx.x / column_blocks;
  const int64_t channel = (blockIdx.x % column_blocks * blockDim.x + threadIdx.x) * static_cast<int64_t>(V);
  float sum[V] = {};
  if (channel < c) {
#pragma unroll 4
    for (int64_t i = threadIdx.y; i < area; i += blockDim.y) {
      const auto in = load<T, V>(x.at(n * area + i, channel));
#pragma unroll
      for (int k = 0; k < V; ++k) sum[k] += in[k];
    }
  }
  const unsigned tx = blockDim.x, me = threadIdx.y * tx + threadIdx.x;
#pragma unroll
  for (int k = 0; k < V; ++k) shared[k][me] = sum[k];
  __syncthreads();
  if (threadIdx.y != 0 || channel >= c) return;
  Pack<T, V> out;
#pragma unroll
  for (int k = 0; k < V; ++k) {
    float total = 0;
    for (unsigned s = 0; s < blockDim.y; ++s) total += shared[k][s * tx + threadIdx.x];
    out.set(k, total / static_cast<float>(area));
  }
  store(y.at(n, channel), out);
}

/// flat: n samples of `area` columns, one row.
template <class A>
__global__ void __launch_bounds__(kThreads)
    global_avg_pool_grad_kernel(Pixels<const typename A::Element> dy, Pixels<typename A::Element> dx,
                                float area, Flat flat) {
  using T = typename A::Element;
  constexpr int V = A::width;
  const uint32_t i = blockIdx.x * kThreads + threadIdx.x;
  if (i >= flat.count) return;
  const FlatPlace at(flat, i, V);
  const auto in = load<T, V>(dy.at(at.n, at.channel));
  Pack<T, V> out;
#pragma unroll
  for (int k = 0; k < V; ++k) out.set(k, in[k] / area);
  store(dx.at(at.pixel, at.channel), out);
}

// ---- launches ---------------------------------------------------------------------------------------------------------

bool valid(const PoolShape& s) {
  for (int axis = 0; axis < 2; ++axis)
    if (s.window[axis] < 1 || s.stride[axis] < 1 || s.pad_lo[axis] < 0 || s.pad_hi[axis] < 0) return false;
  return s.n >= 0 && s.h >= 0 && s.w >= 0 && s.c >= 0 && s.p >= 0 && s.q >= 0 && s.h < kIndexLimit / 2 &&
         s.w < kIndexLimit / 2;
}

/// Calls f(Access{}, Flat, blocks) for a thread for each vector of n x rows x columns pixels.
template <class F>
cudaError_t over_pixels(Type type, bool wide, int64_t n, int64_t rows, int64_t columns, int64_t c, F f) {
  if (n * rows * columns * c == 0) return cudaSuccess;
  if (n * rows * columns > kIndexLimit) return cudaErrorInvalidValue;
  return with_access(type, wide, [&](auto access) {
    const int64_t vectors = c / decltype(access)::width, count = n * rows * columns * vectors;
    if (count > kIndexLimit) return cudaErrorInvalidValue;
    const Flat flat{Divisor(vectors), Divisor(columns), Divisor(rows), static_cast<uint32_t>(count)};
    f(access, flat, static_cast<unsigned>(ceil_div(count, kThreads)));
    return cudaGetLastError();
  });
}

/// The same for each tile of kSide x kSide input pixels. What indices count is pixels, so those have to fit too.
template <class F>
cudaError_t over_tiles(Type type, bool wide, const PoolShape& s, F f) {
  if (s.n * s.h * s.w > kIndexLimit) return cudaErrorInvalidValue;
  return over_pixels(type, wide, s.n, ceil_div(s.h, kSide), ceil_div(s.w, kSide), s.c, f);
}

constexpr int kMostArgmax = 255;

}  // namespace

size_t max_pool_argmax_bytes(const PoolShape& s) {
  if (static_cast<int64_t>(s.window[0]) * s.window[1] > kMostArgmax) return 0;
  return static_cast<size_t>(s.n * s.p * s.q * s.c);
}

cudaError_t max_pool(const MaxPoolArgs& a, cudaStream_t stream) {
  const PoolShape& s = a.shape;
  const Survey survey(a.type, s.c, {a.x, a.y});
  if (!valid(s) || !survey.fits ||
      (a.argmax != nullptr && static_cast<int64_t>(s.window[0]) * s.window[1] > kMostArgmax))
    return cudaErrorInvalidValue;
  const bool wide = survey.wide && is_aligned(a.argmax, kAccessBytes / size_of(a.type));
  return over_pixels(a.type, wide, s.n, s.p, s.q, s.c, [&](auto access, const Flat& flat, unsigned blocks) {
    using A = decltype(access);
    using T = typename A::Element;
    max_pool_kernel<A><<<blocks, kThreads, 0, stream>>>(pixels<T>(a.x, s.c), pixels<T>(a.y, s.c), a.argmax,
                                                        a.relu, Window(s), flat, s.c);
  });
}

cudaError_t max_pool_grad(const MaxPoolGradArgs& a, cudaStream_t stream) {
  const PoolShape& s = a.shape;
  const Survey survey(a.type, s.c, {a.dy, a.x, a.dx});
  if (!valid(s) || !survey.fits || (a.argmax == nullptr && a.x.data == nullptr)) return cudaErrorInvalidValue;
  if (a.argmax == nullptr)
    return over_pixels(
        a.type, false, s.n, s.h, s.w, s.c, [&](auto access, const Flat& flat, unsigned blocks) {
          using T = typename decltype(access)::Element;
          max_pool_search_grad_kernel<T><<<blocks, kThreads, 0, stream>>>(
              pixels<T>(a.dy, s.c), pixels<T>(a.x, s.c), pixels<T>(a.dx, s.c), Window(s), flat);
        });
  const bool wide =
      Survey(a.type, s.c, {a.dy, a.dx}).wide && is_aligned(a.argmax, kAccessBytes / size_of(a.type));
  return over_tiles(a.type, wide, s, [&](auto access, const Flat& tiles, unsigned blocks) {
    using A = decltype(access);
    using T = typename A::Element;
    pool_grad_kernel<A><<<blocks, kThreads, 0, stream>>>(ToMaximum<A>{pixels<T>(a.dy, s.c), a.argmax, s.c},
                                                         pixels<T>(a.dx, s.c), Window(s), tiles);
  });
}

cudaError_t avg_pool(const AvgPoolArgs& a, cudaStream_t stream) {
  const PoolShape& s = a.shape;
  const Survey survey(a.type, s.c, {a.x, a.y});
  if (!valid(s) || !survey.fits) return cudaErrorInvalidValue;
  return over_pixels(
      a.type, survey.wide, s.n, s.p, s.q, s.c, [&](auto access, const Flat& flat, unsigned blocks) {
        using A = decltype(access);
        using T = typename A::Element;
        avg_pool_kernel<A>
            <<<blocks, kThreads, 0, stream>>>(pixels<T>(a.x, s.c), pixels<T>(a.y, s.c), Window(s), flat);
      });
}

cudaError_t avg_pool_grad(const AvgPoolArgs& a, cudaStream_t stream) {
  const PoolShape& s = a.shape;
  const Survey survey(a.type, s.c, {a.x, a.y});
  if (!valid(s) || !survey.fits) return cudaErrorInvalidValue;
  return over_tiles(a.type, survey.wide, s, [&](auto access, const Flat& tiles, unsigned blocks) {
    using A = decltype(access);
    using T = typename A::Element;
    pool_grad_kernel<A><<<blocks, kThreads, 0, stream>>>(ToAll<A>{pixels<T>(a.x, s.c)}, pixels<T>(a.y, s.c),
                                                         Window(s), tiles);
  });
}

cudaError_t global_avg_pool(const GlobalAvgPoolArgs& a, cudaStream_t stream) {
  const Survey survey(a.type, a.c, {a.x, a.y});
  if (!survey.fits || a.n < 0 || a.area < 1) return cudaErrorInvalidValue;
  if (a.n == 0 || a.c == 0) return cudaSuccess;
  return with_access(a.type, survey.wide, [&](auto access) {
    using A = decltype(access);
    using T = typename A::Element;
    const Columns cut(a.area, a.c, A::width, 1);
    if (a.n * cut.column_blocks > kIndexLimit) return cudaErrorInvalidValue;
    global_avg_pool_kernel<A><<<static_cast<unsigned>(a.n * cut.column_blocks), cut.block(), 0, stream>>>(
        pixels<T>(a.x, a.c), pixels<T>(a.y, a.c), a.area, a.c, static_cast<uint32_t>(cut.column_blocks));
    return cudaGetLastError();
  });
}

cudaError_t global_avg_pool_grad(const GlobalAvgPoolArgs& a, cudaStream_t stream) {
  const Survey survey(a.type, a.c, {a.x, a.y});
  if (!survey.fits || a.n < 0 || a.area < 1) return cudaErrorInvalidValue;
  return over_pixels(a.type, survey.wide, a.n, 1, a.area, a.c,
                     [&](auto access, const Flat& flat, unsigned blocks) {
                       using A = decltype(access);
                       using T = typename A::Element;
                       global_avg_pool_grad_kernel<A><<<blocks, kThreads, 0, stream>>>(
                           pixels<T>(a.x, a.c), pixels<T>(a.y, a.c), static_cast<float>(a.area), flat);
                     });
}

}  // namespace convoy::cuda
