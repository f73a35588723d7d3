#include "block_image.hpp"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace convoy::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kMostBlocks = 1 << 16;

struct Shape {  // BlockShape in what a kernel computes with
  int n, c, h, w, k, r, s, stride, before_h, before_w, shift_h, shift_w, blocks_h, blocks_w, window_h, window_w, channels;
};

Shape narrow(const BlockShape& b) {
  const auto i = [](int64_t v) { return static_cast<int>(v); };
  return {i(b.n),         i(b.c),        i(b.size[0]),  i(b.size[1]),   i(b.k),         i(b.kernel[0]), i(b.kernel[1]), i(b.stride),  i(b.before[0]),
          i(b.before[1]), i(b.shift[0]), i(b.shift[1]), i(b.blocks[0]), i(b.blocks[1]), i(b.window[0]), i(b.window[1]), i(b.channels)};
}

template <class T>
__device__ T from_float(float v);
template <>
__device__ __nv_bfloat16 from_float(float v) { return __float2bfloat16_rn(v); }
template <>
__device__ __half from_float(float v) { return __float2half_rn(v); }
__device__ float to_float(float v) { return v; }
__device__ float to_float(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ float to_float(__half v) { return __half2float(v); }

struct Normal {
  float mean[4], scale[4];
};

/// A thread writes eight channels of one block: 16 bytes.
template <class X, class Y>
__global__ void block_image_kernel(Shape d, const X* __restrict__ x, Normal normal, Y* __restrict__ y) {
  const int groups = d.channels / 8;
  const int64_t all = static_cast<int64_t>(d.n) * d.blocks_h * d.blocks_w * groups;
  for (int64_t t = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; t < all; t += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const int g = static_cast<int>(t % groups);
    int64_t rest = t / groups;
    const int j = static_cast<int>(rest % d.blocks_w);
    rest /= d.blocks_w;
    const int i = static_cast<int>(rest % d.blocks_h), n = static_cast<int>(rest / d.blocks_h);
    __align__(16) Y out[8];
#pragma unroll
    for (int e = 0; e < 8; ++e) {
      const int channel = 8 * g + e, cell = channel / d.c, c = channel % d.c;
      const int h = d.stride * (i - d.before_h) + cell / d.stride, w = d.stride * (j - d.before_w) + cell % d.stride;
      const bool inside = cell < d.stride * d.stride && h >= 0 && h < d.h && w >= 0 && w < d.w;
      const float v = inside ? static_cast<float>(x[(static_cast<int64_t>(n) * d.c + c) * d.h * d.w + static_cast<int64_t>(h) * d.w + w]) : 0.0f;
      out[e] = from_float<Y>(inside ? (v - normal.mean[c]) * normal.scale[c] : 0.0f);
    }
    *reinterpret_cast<uint4*>(y + 8 * t) = *reinterpret_cast<const uint4*>(out);
  }
}

/// Which element of the filter an element of the blocked one is; -1 where it is a zero.
__device__ int64_t source_of(const Shape& d, int64_t t) {
  const int channel = static_cast<int>(t % d.channels);
  int64_t rest = t / d.channels;
  const int j = static_cast<int>(rest % d.window_w);
  rest /= d.window_w;
  const int i = static_cast<int>(rest % d.window_h);
  const int64_t k = rest / d.window_h;
  const int cell = channel / d.c, c = channel % d.c;
  const int r = d.stride * i + cell / d.stride - d.shift_h, s = d.stride * j + cell % d.stride - d.shift_w;
  const bool inside = cell < d.stride * d.stride && r >= 0 && r < d.r && s >= 0 && s < d.s;
  return inside ? ((k * d.r + r) * d.s + s) * d.c + c : -1;
}

template <class T>
__global__ void block_weights_kernel(Shape d, const float* w, T* out) {
  const int64_t all = static_cast<int64_t>(d.k) * d.window_h * d.window_w * d.channels;
  for (int64_t t = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; t < all; t += static_cast<int64_t>(gridDim.x) * blockDim.x) {
    const int64_t from = source_of(d, t);
    out[t] = from_float<T>(from < 0 ? 0.0f : w[from]);
  }
}

/// Every element of the filter is exactly one of the blocked filter's.
template <class T>
__global__ void unblock_weights_kernel(Shape d, const T* dw, float* out) {
  const int64_t all = static_cast<int64_t>(d.k) * d.window_h * d.window_w * d.channels;
  for (int64_t t = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; t < all; t += static_cast<int64_t>(gridDim.x) * blockDim.x)
    if (const int64_t to = source_of(d, t); to >= 0) out[to] = to_float(dw[t]);
}

unsigned blocks_for(int64_t threads) {
  const int64_t blocks = (threads + kThreads - 1) / kThreads;
  return static_cast<unsigned>(blocks < kMostBlocks ? blocks : kMostBlocks);
}

template <class X, class Y>
cudaError_t image(const BlockImageArgs& a, cudaStream_t s) {
  Normal normal{};
  for (int c = 0; c < 4; ++c) normal.mean[c] = a.mean[c], normal.scale[c] = 1.0f / a.stdev[c];
  const BlockShape& b = a.shape;
  const int64_t threads = b.n * b.blocks[0] * b.blocks[1] * (b.channels / 8);
  block_image_kernel<X, Y><<<blocks_for(threads), kThreads, 0, s>>>(narrow(b), static_cast<const X*>(a.x), normal, static_cast<Y*>(a.y));
  return cudaGetLastError();
}

template <class Y>
cudaError_t image(const BlockImageArgs& a, cudaStream_t s) {
  return a.x_type == Type::u8 ? image<uint8_t, Y>(a, s) : image<float, Y>(a, s);
}

int64_t blocked_elements(const BlockShape& b) { return b.k * b.window[0] * b.window[1] * b.channels; }

}  // namespace

void BlockShape::derive() {
  for (int i = 0; i < 2; ++i) {
    before[i] = (pad[i] + stride - 1) / stride;
    shift[i] = stride * before[i] - pad[i];
    window[i] = (kernel[i] + shift[i] + stride - 1) / stride;
    blocks[i] = out[i] + window[i] - 1;
  }
  channels = (stride * stride * c + 7) / 8 * 8;
}

cudaError_t block_image(const BlockImageArgs& a, cudaStream_t s) {
  if ((a.x_type != Type::u8 && a.x_type != Type::f32) || a.shape.c > 4) return cudaErrorInvalidValue;
  if (a.y_type == Type::bf16) return image<__nv_bfloat16>(a, s);
  if (a.y_type == Type::f16) return image<__half>(a, s);
  return cudaErrorInvalidValue;
}

cudaError_t block_weights(const BlockShape& b, const float* w, void* out, Type type, cudaStream_t s) {
  const unsigned blocks = blocks_for(blocked_elements(b));
  if (type == Type::bf16) block_weights_kernel<<<blocks, kThreads, 0, s>>>(narrow(b), w, static_cast<__nv_bfloat16*>(out));
  else if (type == Type::f16) block_weights_kernel<<<blocks, kThreads, 0, s>>>(narrow(b), w, static_cast<__half*>(out));
  else return cudaErrorInvalidValue;
  return cudaGetLastError();
}

cudaError_t unblock_weights(const BlockShape& b, const void* dw, Type type, float* out, cudaStream_t s) {
  const unsigned blocks = blocks_for(blocked_elements(b));
  if (type == Type::bf16) unblock_weights_kernel<<<blocks, kThreads, 0, s>>>(narrow(b), static_cast<const __nv_bfloat16*>(dw), out);
  else if (type == Type::f16) unblock_weights_kernel<<<blocks, kThreads, 0, s>>>(narrow(b), static_cast<const __half*>(dw), out);
  else return cudaErrorInvalidValue;
  return cudaGetLastError();
}

}  // namespace convoy::cuda
