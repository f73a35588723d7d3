// Convolution and its gradients by their definition, NHWC and KRSC, any stride, dilation and groups: for what cuDNN
// refuses. Plain sums in f32, a thread or a block for each element of the result; not meant to be fast.
#include "launch.cuh"

namespace convoy::cuda {

namespace {

constexpr int kWgradRows = 8;  // strands of pixels in a wgrad block of 32 channels

struct Convolution {
  explicit Convolution(const ConvShape& a)
      : n(a.n),
        h(a.h),
        w(a.w),
        c(a.c),
        k(a.k),
        p(a.p),
        q(a.q),
        r(a.kernel[0]),
        s(a.kernel[1]),
        c_group(a.c / a.groups),
        k_group(a.k / a.groups),
        stride_h(a.stride[0]),
        stride_w(a.stride[1]),
        dilation_h(a.dilation[0]),
        dilation_w(a.dilation[1]),
        top(a.pad_lo[0]),
        left(a.pad_lo[1]) {}
  int64_t n, h, w, c, k, p, q, r, s, c_group, k_group, stride_h, stride_w, dilation_h, dilation_w, top, left;

  /// Index of w[k][r][s][0].
  __device__ int64_t weight(int64_t ki, int64_t ri, int64_t si) const {
    return ((ki * r + ri) * s + si) * c_group;
  }
};

/// y[n,p,q,k] = sum over r, s, c of x[n,h,w,c] w[k,r,s,c]
template <class T>
__global__ void __launch_bounds__(kThreads)
    conv_direct_kernel(Pixels<const T> x, const T* w, Pixels<T> y, Convolution d) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= d.n * d.p * d.q * d.k) return;
  const int64_t k = i % d.k, pixel = i / d.k, q = pixel % d.q, p = pixel / d.q % d.p, n = pixel / d.q / d.p;
  const int64_t first = k / d.k_group * d.c_group;  // the group's channels
  float sum = 0;
  for (int64_t r = 0; r < d.r; ++r) {
    const int64_t h = p * d.stride_h + r * d.dilation_h - d.top;
    if (h < 0 || h >= d.h) continue;
    for (int64_t s = 0; s < d.s; ++s) {
      const int64_t col = q * d.stride_w + s * d.dilation_w - d.left;
      if (col < 0 || col >= d.w) continue;
      const T* from = x.at((n * d.h + h) * d.w + col, first);
      const T* tap = w + d.weight(k, r, s);
      for (int64_t c = 0; c < d.c_group; ++c) sum += to_float(from[c]) * to_float(tap[c]);
    }
  }
  *y.at(pixel, k) = from_float<T>(sum);
}

/// dx[n,h,w,c] = sum over k, r, s of dy[n,p,q,k] w[k,r,s,c] where (p, q) reads (h, w) through (r, s)
template <class T>
__global__ void __launch_bounds__(kThreads)
    conv_direct_dgrad_kernel(Pixels<const T> dy, const T* w, Pixels<T> dx, Convolution d) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= d.n * d.h * d.w * d.c) return;
  const int64_t channel = i % d.c, pixel = i / d.c, col = pixel % d.w, h = pixel / d.w % d.h,
                n = pixel / d.w / d.h;
  const int64_t c = channel % d.c_group, first = channel / d.c_group * d.k_group;
  float sum = 0;
  for (int64_t r = 0; r < d.r; ++r) {
    const int64_t above = h + d.top - r * d.dilation_h, p = above / d.stride_h;
    if (above < 0 || above % d.stride_h != 0 || p >= d.p) continue;
    for (int64_t s = 0; s < d.s; ++s) {
      const int64_t before = col + d.left - s * d.dilation_w, q = before / d.stride_w;
      if (before < 0 || before % d.stride_w != 0 || q >= d.q) continue;
      const T* from = dy.at((n * d.p + p) * d.q + q, first);
      for (int64_t k = 0; k < d.k_group; ++k)
        sum += to_float(from[k]) * to_float(w[d.weight(first + k, r, s) + c]);
    }
  }
  *dx.at(pixel, channel) = from_float<T>(sum);
}

/// dw[k,r,s,c] = sum over n, p, q of dy[n,p,q,k] x[n,h,w,c]. A block is one (k, r, s) and 32 channels; its strands
/// share the pixels.
template <class T, class D>
__global__ void __launch_bounds__(32 * kWgradRows)
    conv_direct_wgrad_kernel(Pixels<const T> dy, Pixels<const T> x, D* dw, Convolution d,
                             int64_t channel_blocks) {
  __shared__ float shared[kWgradRows][32];
  const int64_t tap = blockIdx.x / channel_blocks, c = blockIdx.x % channel_blocks * 32 + threadIdx.x;
  const int64_t s = tap % d.s, r = tap / d.s % d.r, k = tap / d.s / d.r;
  const int64_t channel = k / d.k_group * d.c_group + c;
  float sum = 0;
  for (int64_t pixel = threadIdx.y; c < d.c_group && pixel < d.n * d.p * d.q; pixel += kWgradRows) {
    const int64_t q = pixel % d.q, p = pixel / d.q % d.p, n = pixel / d.q / d.p;
    const int64_t h = p * d.stride_h + r * d.dilation_h - d.top,
                  col = q * d.stride_w + s * d.dilation_w - d.left;
    if (h < 0 || h >= d.h || col < 0 || col >= d.w) continue;
    sum += to_float(*dy.at(pixel, k)) * to_float(*x.at((n * d.h + h) * d.w + col, channel));
  }
  shared[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || c >= d.c_group) return;
  float total = 0;
  for (int y = 0; y < kWgradRows; ++y) total += shared[y][threadIdx.x];
  dw[d.weight(k, r, s) + c] = from_float<D>(total);
}

bool valid(const ConvShape& a) {
  for (int axis = 0; axis < 2; ++axis)
    if (a.kernel[axis] < 1 || a.stride[axis] < 1 || a.dilation[axis] < 1 || a.pad_lo[axis] < 0) return false;
  return a.n >= 0 && a.h >= 0 && a.w >= 0 && a.c >= 0 && a.k >= 0 && a.p >= 0 && a.q >= 0 && a.groups >= 1 &&
         a.c % a.groups == 0 && a.k % a.groups == 0;
}

/// Calls launch(T{}, blocks) for that many threads.
template <class F>
cudaError_t over_elements(Type type, int64_t threads, F launch) {
  const int64_t blocks = ceil_div(threads, kThreads);
  if (blocks > kIndexLimit) return cudaErrorInvalidValue;
  if (blocks == 0) return cudaSuccess;
  return with_type(type, [&](auto t) {
    launch(t, static_cast<unsigned>(blocks));
    return cudaGetLastError();
  });
}

}  // namespace

cudaError_t conv_direct(const ConvDirectArgs& a, cudaStream_t stream) {
  const ConvShape& s = a.shape;
  if (!valid(s) || !Survey(a.type, s.c, {a.x}).fits || !Survey(a.type, s.k, {a.y}).fits)
    return cudaErrorInvalidValue;
  return over_elements(a.type, s.n * s.p * s.q * s.k, [&](auto t, unsigned blocks) {
    using T = decltype(t);
    conv_direct_kernel<T><<<blocks, kThreads, 0, stream>>>(pixels<T>(a.x, s.c), static_cast<const T*>(a.w),
                                                           pixels<T>(a.y, s.k), Convolution(s));
  });
}

cudaError_t conv_direct_dgrad(const ConvDirectDgradArgs& a, cudaStream_t stream) {
  const ConvShape& s = a.shape;
  if (!valid(s) || !Survey(a.type, s.k, {a.dy}).fits || !Survey(a.type, s.c, {a.dx}).fits)
    return cudaErrorInvalidValue;
  return over_elements(a.type, s.n * s.h * s.w * s.c, [&](auto t, unsigned blocks) {
    using T = decltype(t);
    conv_direct_dgrad_kernel<T><<<blocks, kThreads, 0, stream>>>(
        pixels<T>(a.dy, s.k), static_cast<const T*>(a.w), pixels<T>(a.dx, s.c), Convolution(s));
  });
}

cudaError_t conv_direct_wgrad(const ConvDirectWgradArgs& a, cudaStream_t stream) {
  const ConvShape& s = a.shape;
  if (!valid(s) || !Survey(a.type, s.k, {a.dy}).fits || !Survey(a.type, s.c, {a.x}).fits ||
      (a.dw_type != a.type && a.dw_type != Type::f32))
    return cudaErrorInvalidValue;
  const int64_t channel_blocks = ceil_div(s.c / s.groups, 32),
                blocks = s.k * s.kernel[0] * s.kernel[1] * channel_blocks;
  if (blocks > kIndexLimit) return cudaErrorInvalidValue;
  if (blocks == 0) return cudaSuccess;
  return with_type(a.type, [&](auto t) {
    using T = decltype(t);
    const auto launch = [&](auto* dw) {
      conv_direct_wgrad_kernel<<<static_cast<unsigned>(blocks), dim3(32, kWgradRows), 0, stream>>>(
          pixels<T>(a.dy, s.k), pixels<T>(a.x, s.c), dw, Convolution(s), channel_blocks);
      return cudaGetLastError();
    };
    if (a.dw_type == Type::f32) return launch(static_cast<float*>(a.dw));
    return launch(static_cast<T*>(a.dw));
  });
}

}  // namespace convoy::cuda
