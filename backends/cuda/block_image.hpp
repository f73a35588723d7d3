// A strided convolution of an image with few channels as one without stride: squares of stride x stride pixels become
// channels ("space to depth"), so that the libraries' fast kernels, which want channels in eights, apply.
//
// With stride s and padding p let o = ceil(p / s) and d = s o - p. The filter gets d rows of zeros in front, and with
// R' = ceil((R + d) / s):   y[p, q] = sum over i < R', j < S' of b[p + i, q + j] . w'[i, j]
// where b[i, j] holds the s x s pixels from (s (i - o), s (j - o)) on, zeros outside the image, and w' the filter's values
// for them. So the padding is in b, and the convolution has neither padding nor stride.
#pragma once

#include "kernels/kernels.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>

namespace convoy::cuda {

/// Geometry of one dimension is index 0 (height) or 1 (width).
struct BlockShape {
  int64_t n = 0, c = 0, size[2] = {};  // the image
  int64_t k = 0, kernel[2] = {};       // the filter
  int64_t stride = 1, pad[2] = {};
  int64_t out[2] = {};                 // P, Q
  int64_t before[2] = {};              // o: blocks of padding in front
  int64_t shift[2] = {};               // d: rows of zeros in front of the filter
  int64_t blocks[2] = {};              // b's height and width
  int64_t window[2] = {};              // R', S'
  int64_t channels = 0;                // s s c, rounded up to eights

  /// Fills in what follows from image, filter, stride, padding and output.
  void derive();
};

struct BlockImageArgs {
  BlockShape shape;
  const void* x = nullptr;   // NCHW, u8 or f32
  Type x_type = Type::f32;
  float mean[4] = {}, stdev[4] = {1, 1, 1, 1};  // (x - mean) / stdev
  void* y = nullptr;         // (n, blocks, blocks, channels)
  Type y_type = Type::bf16;  // bf16 or f16
};
cudaError_t block_image(const BlockImageArgs&, cudaStream_t);

/// w f32 (k, R, S, c) -> (k, R', S', channels) of `type`; and its gradient back, f32 added nowhere, written.
cudaError_t block_weights(const BlockShape&, const float* w, void* out, Type type, cudaStream_t);
cudaError_t unblock_weights(const BlockShape&, const void* dw, Type type, float* out, cudaStream_t);

}  // namespace convoy::cuda
