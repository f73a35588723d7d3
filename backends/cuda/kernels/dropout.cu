// Dropout, and its gradient, which is the same function: what is kept is drawn again from the counter, never stored.
// Philox4x32-10 as convoy/sdk/philox.hpp has it, so that every device keeps the same elements.
#include "launch.cuh"

#include <cmath>

namespace convoy::cuda {

namespace {

__device__ uint4 philox4x32(uint4 counter, uint64_t key) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const uint32_t hi0 = __umulhi(0xD2511F53u, counter.x), lo0 = 0xD2511F53u * counter.x;
    const uint32_t hi1 = __umulhi(0xCD9E8D57u, counter.z), lo1 = 0xCD9E8D57u * counter.z;
    counter = make_uint4(hi1 ^ counter.y ^ k0, lo1, hi0 ^ counter.w ^ k1, lo0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return counter;
}

struct Draw {
  const int64_t* rng;
  uint32_t stream;
  uint64_t threshold;  // kept where the word is not below
  float scale;

  __device__ uint4 words(int64_t sample, int64_t element) const {
    const uint4 counter =
        make_uint4(static_cast<uint32_t>(element / 4), static_cast<uint32_t>(rng[2] + sample),
                   static_cast<uint32_t>(rng[1]), stream);
    return philox4x32(counter, static_cast<uint64_t>(rng[0]));
  }
  __device__ float apply(float x, uint32_t word) const { return word >= threshold ? x * scale : 0.0f; }
};

__device__ uint32_t word_of(const uint4& w, int64_t i) {
  return i == 0 ? w.x : i == 1 ? w.y : i == 2 ? w.z : w.w;
}

/// One pixel a sample: four channels share a draw. kWide: and are one access.
template <class T, bool kWide>
__global__ void __launch_bounds__(kThreads)
    dropout_vector_kernel(Pixels<const T> x, Pixels<T> y, Draw draw, int64_t n, int64_t c) {
  const int64_t groups = (c + 3) / 4, i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n * groups) return;
  const int64_t sample = i / groups, first = i % groups * 4;
  const uint4 words = draw.words(sample, first);
  if constexpr (kWide) {
    auto v = load<T, 4>(x.at(sample, first));
#pragma unroll
    for (int k = 0; k < 4; ++k) v.set(k, draw.apply(v[k], word_of(words, k)));
    store(y.at(sample, first), v);
  } else {
#pragma unroll
    for (int k = 0; k < 4; ++k)
      if (first + k < c)
        *y.at(sample, first + k) =
            from_float<T>(draw.apply(to_float(*x.at(sample, first + k)), word_of(words, k)));
  }
}

/// Several pixels: neighbours in memory lie far apart in the logical order, so each element has its own draw.
template <class T>
__global__ void __launch_bounds__(kThreads)
    dropout_plane_kernel(Pixels<const T> x, Pixels<T> y, Draw draw, int64_t n, int64_t area, int64_t c) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n * area * c) return;
  const int64_t row = i / c, channel = i % c, element = channel * area + row % area;
  const uint4 words = draw.words(row / area, element);
  *y.at(row, channel) = from_float<T>(draw.apply(to_float(*x.at(row, channel)), word_of(words, element % 4)));
}

}  // namespace

cudaError_t dropout(const DropoutArgs& a, cudaStream_t stream) {
  const Survey s(a.type, a.c, {a.x, a.y});
  if (!s.fits || a.n < 0 || a.area < 0 || !(a.p >= 0 && a.p <= 1)) return cudaErrorInvalidValue;
  if (a.n * a.area * a.c == 0) return cudaSuccess;
  const Draw draw{a.rng, a.stream, static_cast<uint64_t>(std::ceil(a.p * 0x1p32)),
                  static_cast<float>(1 / (1 - a.p))};
  return with_type(a.type, [&](auto t) {
    using T = decltype(t);
    const auto x = pixels<T>(a.x, a.c);
    const auto y = pixels<T>(a.y, a.c);
    const int64_t threads = a.area == 1 ? a.n * ceil_div(a.c, 4) : a.n * a.area * a.c;
    const int64_t blocks = ceil_div(threads, kThreads);
    if (blocks > kIndexLimit) return cudaErrorInvalidValue;
    const auto grid = static_cast<unsigned>(blocks);
    const bool four = a.c % 4 == 0 && x.ld % 4 == 0 && y.ld % 4 == 0 && is_aligned(x.p, 4 * sizeof(T)) &&
                      is_aligned(y.p, 4 * sizeof(T));
    if (a.area != 1)
      dropout_plane_kernel<<<grid, kThreads, 0, stream>>>(x, y, draw, a.n, a.area, a.c);
    else if (four)
      dropout_vector_kernel<T, true><<<grid, kThreads, 0, stream>>>(x, y, draw, a.n, a.c);
    else
      dropout_vector_kernel<T, false><<<grid, kThreads, 0, stream>>>(x, y, draw, a.n, a.c);
    return cudaGetLastError();
  });
}

}  // namespace convoy::cuda
