// Layouts and types: images to the compute type, NCHW <-> NHWC, casts, constants. Copies that change neither: concat.cu.
#include "launch.cuh"

#include <type_traits>

namespace convoy::cuda {

namespace {

// ---- images -------------------------------------------------------------------------------------------------------

constexpr int kMostChannels = 8;

struct Image {
  Divisor area;
  uint32_t pixels;
  int64_t plane;   // elements from channel to channel
  int64_t sample;  // from sample to sample
  int64_t step;    // from pixel to pixel
  int c, c_padded;
  float mean[4], stdev[4];
};

/// One pixel a thread; V channels are stored at once.
template <class X, class T, int V>
__global__ void __launch_bounds__(kThreads) image_normalize_kernel(const X* x, Image d, T* y, int64_t ld) {
  const uint32_t pixel = blockIdx.x * kThreads + threadIdx.x;
  if (pixel >= d.pixels) return;
  uint32_t n = pixel;
  const uint32_t i = d.area.split(n);
  const X* from = x + n * d.sample + i * d.step;
  Pack<T, V> out;
#pragma unroll
  for (int k = 0; k < kMostChannels; ++k) {
    if (k >= d.c_padded) break;
    float v = 0;
    if (k < 4 && k < d.c) v = (static_cast<float>(from[k * d.plane]) - d.mean[k % 4]) / d.stdev[k % 4];
    out.set(k % V, v);
    if (k % V == V - 1) store(y + pixel * ld + (k - k % V), out);
  }
}

/// Channels that can be stored at once.
int store_width(const ImageNormalizeArgs& a, int64_t ld) {
  const int64_t size = size_of(a.y_type);
  for (int width : {8, 4, 2})
    if (width * size <= kAccessBytes && a.c_padded % width == 0 && ld % width == 0 &&
        is_aligned(a.y.data, width * size))
      return width;
  return 1;
}

template <class X, class T>
cudaError_t normalize(const ImageNormalizeArgs& a, const Image& d, int64_t ld, cudaStream_t stream) {
  const auto* x = static_cast<const X*>(a.x);
  auto* y = static_cast<T*>(a.y.data);
  const auto blocks = static_cast<unsigned>(ceil_div(d.pixels, kThreads));
  switch (store_width(a, ld)) {
    case 8:
      if constexpr (sizeof(T) == 2) {
        image_normalize_kernel<X, T, 8><<<blocks, kThreads, 0, stream>>>(x, d, y, ld);
        break;
      }
      [[fallthrough]];
    case 4: image_normalize_kernel<X, T, 4><<<blocks, kThreads, 0, stream>>>(x, d, y, ld); break;
    case 2: image_normalize_kernel<X, T, 2><<<blocks, kThreads, 0, stream>>>(x, d, y, ld); break;
    default: image_normalize_kernel<X, T, 1><<<blocks, kThreads, 0, stream>>>(x, d, y, ld);
  }
  return cudaGetLastError();
}

// ---- NCHW <-> NHWC ----------------------------------------------------------------------------------------------------

constexpr int kTile = 32;     // channels by pixels, through shared memory
constexpr int kTileRows = 8;  // threads (kTile, kTileRows)

struct Transposition {
  int64_t c, c_padded, area, ld;
  uint32_t channel_tiles, pixel_tiles;
};

struct TilePlace {
  __device__ explicit TilePlace(const Transposition& d) {
    const uint32_t rest = blockIdx.x / d.channel_tiles;
    channel = blockIdx.x % d.channel_tiles * kTile;
    pixel = rest % d.pixel_tiles * kTile;
    n = rest / d.pixel_tiles;
  }
  int64_t n, channel, pixel;
};

template <class X, class Y>
__global__ void __launch_bounds__(kTile* kTileRows) nchw_to_nhwc_kernel(const X* x, Y* y, Transposition d) {
  __shared__ float tile[kTile][kTile + 1];
  const TilePlace at(d);
  for (int j = threadIdx.y; j < kTile; j += kTileRows) {
    const int64_t c = at.channel + j, i = at.pixel + threadIdx.x;
    tile[j][threadIdx.x] = c < d.c && i < d.area ? to_float(x[(at.n * d.c + c) * d.area + i]) : 0.0f;
  }
  __syncthreads();
  for (int j = threadIdx.y; j < kTile; j += kTileRows) {
    const int64_t c = at.channel + threadIdx.x, i = at.pixel + j;
    if (c < d.c_padded && i < d.area) y[(at.n * d.area + i) * d.ld + c] = from_float<Y>(tile[threadIdx.x][j]);
  }
}

template <class X, class Y>
__global__ void __launch_bounds__(kTile* kTileRows) nhwc_to_nchw_kernel(const X* x, Y* y, Transposition d) {
  __shared__ float tile[kTile][kTile + 1];
  const TilePlace at(d);
  for (int j = threadIdx.y; j < kTile; j += kTileRows) {
    const int64_t c = at.channel + threadIdx.x, i = at.pixel + j;
    if (c < d.c && i < d.area) tile[j][threadIdx.x] = to_float(x[(at.n * d.area + i) * d.ld + c]);
  }
  __syncthreads();
  for (int j = threadIdx.y; j < kTile; j += kTileRows) {
    const int64_t c = at.channel + j, i = at.pixel + threadIdx.x;
    if (c < d.c && i < d.area) y[(at.n * d.c + c) * d.area + i] = from_float<Y>(tile[threadIdx.x][j]);
  }
}

/// One pixel: NCHW and NHWC are rows of channels.
template <class X, class Y>
__global__ void __launch_bounds__(kThreads)
    rows_kernel(const X* x, int64_t x_ld, Y* y, int64_t y_ld, int64_t rows, int64_t c, int64_t written) {
  const int64_t all = rows * written;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < all;
       i += static_cast<int64_t>(gridDim.x) * kThreads) {
    const int64_t row = i / written, k = i % written;
    y[row * y_ld + k] = from_float<Y>(k < c ? to_float(x[row * x_ld + k]) : 0.0f);
  }
}

unsigned persistent_blocks(int64_t work) {
  return static_cast<unsigned>(std::clamp<int64_t>(ceil_div(work, kThreads), 1, multiprocessors() * 8));
}

template <class F>
cudaError_t transpose(const TransposeArgs& a, F launch) {
  const int64_t c_padded = a.c_padded == 0 ? a.c : a.c_padded;
  const Transposition d{a.c,
                        c_padded,
                        a.area,
                        ld_of(a.ld, c_padded),
                        static_cast<uint32_t>(ceil_div(c_padded, kTile)),
                        static_cast<uint32_t>(ceil_div(a.area, kTile))};
  if (a.n < 0 || a.area < 0 || a.c < 0 || c_padded < a.c || d.ld < c_padded) return cudaErrorInvalidValue;
  const int64_t blocks = a.n * d.channel_tiles * d.pixel_tiles;
  if (blocks > kIndexLimit) return cudaErrorInvalidValue;
  if (blocks == 0) return cudaSuccess;
  return with_type(a.x_type, [&](auto x) {
    return with_type(a.y_type, [&](auto y) {
      launch(static_cast<const decltype(x)*>(a.x), static_cast<decltype(y)*>(a.y), d,
             static_cast<unsigned>(blocks));
      return cudaGetLastError();
    });
  });
}

ImageNormalizeArgs as_image(const TransposeArgs& a) {
  ImageNormalizeArgs image;
  image.x = a.x;
  image.x_type = a.x_type;
  image.c_padded = a.c_padded == 0 ? a.c : a.c_padded;
  image.y = {a.y, ld_of(a.ld, image.c_padded)};
  image.y_type = a.y_type;
  image.n = a.n;
  image.h = a.area;
  image.w = 1;
  image.c = a.c;
  return image;
}

// ---- casts and constants ----------------------------------------------------------------------------------------------

template <class T>
constexpr bool kNarrow = std::is_same_v<T, __nv_bfloat16> || std::is_same_v<T, __half>;

template <class Y, class X>
__device__ Y converted(X x) {
  if constexpr (kNarrow<X>)
    return converted<Y>(to_float(x));
  else if constexpr (kNarrow<Y>)
    return from_float<Y>(static_cast<float>(x));
  else
    return static_cast<Y>(x);
}

template <class X, class Y>
__global__ void __launch_bounds__(kThreads) cast_kernel(const X* x, Y* y, int64_t count) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * kThreads)
    y[i] = converted<Y>(x[i]);
}

/// Both sides aligned: V elements a time, what is left by cast_kernel.
template <class X, class Y, int V>
__global__ void __launch_bounds__(kThreads) wide_cast_kernel(const X* x, Y* y, int64_t vectors) {
  constexpr int U = 4;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * (kThreads * U) + threadIdx.x;
  Pack<X, V> in[U];
#pragma unroll
  for (int u = 0; u < U; ++u)
    if (first + u * kThreads < vectors) in[u] = load<X, V>(x + (first + u * kThreads) * V);
#pragma unroll
  for (int u = 0; u < U; ++u)
    if (first + u * kThreads < vectors) {
      Pack<Y, V> out;
#pragma unroll
      for (int k = 0; k < V; ++k) out.set(k, in[u][k]);
      store(y + (first + u * kThreads) * V, out);
    }
}

template <class F>
cudaError_t with_any_type(Type t, F f) {
  switch (t) {
    case Type::u8: return f(uint8_t{});
    case Type::i32: return f(int32_t{});
    case Type::i64: return f(int64_t{});
    default: return with_type(t, f);
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) fill_kernel(T* y, int64_t count, T value) {
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * kThreads)
    y[i] = value;
}

}  // namespace

cudaError_t image_normalize(const ImageNormalizeArgs& a, cudaStream_t stream) {
  const int64_t area = a.h * a.w, ld = ld_of(a.y.ld, a.c_padded), pixels = a.n * area;
  if (a.c < 1 || a.c > 4 || a.c_padded < a.c || a.c_padded > kMostChannels || ld < a.c_padded || pixels < 0 ||
      pixels > kIndexLimit || (a.x_type != Type::u8 && a.x_type != Type::f32))
    return cudaErrorInvalidValue;
  if (pixels == 0) return cudaSuccess;
  Image d{Divisor(area),
          static_cast<uint32_t>(pixels),
          a.x_nhwc ? 1 : area,
          area * a.c,
          a.x_nhwc ? a.c : 1,
          static_cast<int>(a.c),
          static_cast<int>(a.c_padded),
          {},
          {}};
  std::copy_n(a.mean, 4, d.mean);
  std::copy_n(a.stdev, 4, d.stdev);
  return with_type(a.y_type, [&](auto t) {
    using T = decltype(t);
    return a.x_type == Type::u8 ? normalize<uint8_t, T>(a, d, ld, stream)
                                : normalize<float, T>(a, d, ld, stream);
  });
}

cudaError_t nchw_to_nhwc(const TransposeArgs& a, cudaStream_t stream) {
  // A tile of 32 channels would be nearly empty: an image is moved pixel by pixel.
  if (a.x_type == Type::f32 && a.area > 1 && a.c >= 1 && a.c <= 4 && a.c_padded <= kMostChannels)
    return image_normalize(as_image(a), stream);
  return transpose(a, [&](const auto* x, auto* y, const Transposition& d, unsigned blocks) {
    if (a.area == 1)
      rows_kernel<<<persistent_blocks(a.n * d.c_padded), kThreads, 0, stream>>>(x, d.c, y, d.ld, a.n, d.c,
                                                                                d.c_padded);
    else
      nchw_to_nhwc_kernel<<<blocks, dim3(kTile, kTileRows), 0, stream>>>(x, y, d);
  });
}

cudaError_t nhwc_to_nchw(const TransposeArgs& a, cudaStream_t stream) {
  return transpose(a, [&](const auto* x, auto* y, const Transposition& d, unsigned blocks) {
    if (a.area == 1)
      rows_kernel<<<persistent_blocks(a.n * d.c), kThreads, 0, stream>>>(x, d.ld, y, d.c, a.n, d.c, d.c);
    else
      nhwc_to_nchw_kernel<<<blocks, dim3(kTile, kTileRows), 0, stream>>>(x, y, d);
  });
}

cudaError_t cast(const CastArgs& a, cudaStream_t stream) {
  if (a.count < 0) return cudaErrorInvalidValue;
  if (a.count == 0) return cudaSuccess;
  return with_any_type(a.x_type, [&](auto from) {
    return with_any_type(a.y_type, [&](auto to) {
      using X = decltype(from);
      using Y = decltype(to);
      const auto* x = static_cast<const X*>(a.x);
      auto* y = static_cast<Y*>(a.y);
      int64_t done = 0;
      constexpr int V = 4;
      if constexpr ((kNarrow<X> || std::is_same_v<X, float>)&&(kNarrow<Y> || std::is_same_v<Y, float>)) {
        const int64_t vectors = a.count / V;
        if (vectors > 0 && is_aligned(x, sizeof(X) * V) && is_aligned(y, sizeof(Y) * V)) {
          const auto blocks = static_cast<unsigned>(ceil_div(vectors, kThreads * 4));
          wide_cast_kernel<X, Y, V><<<blocks, kThreads, 0, stream>>>(x, y, vectors);
          done = vectors * V;
        }
      }
      if (const int64_t left = a.count - done; left > 0)
        cast_kernel<<<persistent_blocks(left), kThreads, 0, stream>>>(x + done, y + done, left);
      return cudaGetLastError();
    });
  });
}

cudaError_t fill(const FillArgs& a, cudaStream_t stream) {
  if (a.count < 0) return cudaErrorInvalidValue;
  if (a.count == 0) return cudaSuccess;
  if (a.value == 0) return cudaMemsetAsync(a.y, 0, static_cast<size_t>(a.count * size_of(a.type)), stream);
  return with_any_type(a.type, [&](auto t) {
    using T = decltype(t);
    T value;
    if constexpr (std::is_same_v<T, __half>)
      value = __float2half(static_cast<float>(a.value));
    else if constexpr (std::is_same_v<T, __nv_bfloat16>)
      value = __float2bfloat16(static_cast<float>(a.value));
    else
      value = static_cast<T>(a.value);
    fill_kernel<<<persistent_blocks(a.count), kThreads, 0, stream>>>(static_cast<T*>(a.y), a.count, value);
    return cudaGetLastError();
  });
}

}  // namespace convoy::cuda
