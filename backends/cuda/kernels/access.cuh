// How kernels touch memory: element types as floats, accesses of up to 16 bytes, division by a number known at launch.
// No kernels in here.
#pragma once

#include "kernels.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>

namespace convoy::cuda {

__device__ inline float to_float(float v) { return v; }
__device__ inline float to_float(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ inline float to_float(__half v) { return __half2float(v); }

template <class T>
__device__ T from_float(float v);
template <>
__device__ inline float from_float<float>(float v) {
  return v;
}
template <>
__device__ inline __nv_bfloat16 from_float<__nv_bfloat16>(float v) {
  return __float2bfloat16_rn(v);
}
template <>
__device__ inline __half from_float<__half>(float v) {
  return __float2half_rn(v);
}

/// What a value is once it has been stored as T.
template <class T>
__device__ float rounded(float v) {
  return to_float(from_float<T>(v));
}

/// V elements that are read or written at once.
template <class T, int V>
struct alignas(sizeof(T) * V) Pack {
  T v[V];

  __device__ float operator[](int i) const { return to_float(v[i]); }
  __device__ void set(int i, float f) { v[i] = from_float<T>(f); }
};

__device__ inline float half_word_to_float(__nv_bfloat16, uint32_t bits) {
  return __uint_as_float(bits << 16);
}
__device__ inline float half_word_to_float(__half, uint32_t bits) {
  return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
}
__device__ inline uint32_t bits_of(__nv_bfloat16 v) { return __bfloat16_as_ushort(v); }
__device__ inline uint32_t bits_of(__half v) { return __half_as_ushort(v); }

/// 16-bit elements stay two to the word until they are used: as elements each would take a register.
template <class T, int V>
struct alignas(2 * V) WordPack {
  uint32_t w[V / 2];

  __device__ float operator[](int i) const {
    return half_word_to_float(T{}, i % 2 == 0 ? w[i / 2] & 0xffffu : w[i / 2] >> 16);
  }
  __device__ void set(int i, float f) {
    const uint32_t bits = bits_of(from_float<T>(f));
    w[i / 2] = i % 2 == 0 ? __byte_perm(w[i / 2], bits, 0x3254) : __byte_perm(w[i / 2], bits, 0x5410);
  }
};
template <int V>
requires(V >= 2) struct Pack<__nv_bfloat16, V> : WordPack<__nv_bfloat16, V> {
};
template <int V>
requires(V >= 2) struct Pack<__half, V> : WordPack<__half, V> {
};

template <class T, int V>
__device__ Pack<T, V> load(const T* p) {
  return *reinterpret_cast<const Pack<T, V>*>(p);
}
template <class T, int V>
__device__ void store(T* p, const Pack<T, V>& v) {
  *reinterpret_cast<Pack<T, V>*>(p) = v;
}

/// The element type and the width that a kernel is made for.
template <class T, int V>
struct Access {
  using Element = T;
  using Packed = Pack<T, V>;
  static constexpr int width = V;
};

/// A tensor's memory, as kernels see it: T is const for inputs.
template <class T>
struct Pixels {
  T* p;
  int32_t ld;
  __device__ T* at(int64_t row, int64_t channel) const { return p + row * ld + channel; }
  /// One multiplication, where rows are known to be few enough.
  __device__ T* at(int32_t row, int64_t channel) const {
    return p + static_cast<int64_t>(row) * ld + channel;
  }
};

/// Division of numbers below 2^31 by one number: a multiplication and a shift. Granlund and Montgomery 1994.
class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(int64_t d) : d_(static_cast<uint32_t>(d)) {
    while ((uint64_t{1} << shift_) < d_) ++shift_;
    magic_ = static_cast<uint32_t>((uint64_t{1} << 32) * ((uint64_t{1} << shift_) - d_) / d_ + 1);
  }
  __device__ uint32_t quotient(uint32_t n) const { return (__umulhi(n, magic_) + n) >> shift_; }
  /// n becomes the quotient; the rest comes back.
  __device__ uint32_t split(uint32_t& n) const {
    const uint32_t whole = quotient(n), rest = n - whole * d_;
    n = whole;
    return rest;
  }

 private:
  uint32_t d_ = 1, magic_ = 1, shift_ = 0;
};

__device__ inline float relu_of(float x) { return x < 0 ? 0.0f : x; }  // a NaN stays one

}  // namespace convoy::cuda
