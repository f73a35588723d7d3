// Own inner loops: flat, over contiguous f32, one thread. Compiled for several instruction sets; flat() gives those
// of this processor. No shapes and no threads here: the operators' files divide the work.
#pragma once

#include <cstdint>

namespace convoy::cpu {

/// What an SGD step needs besides its vectors. `momentum_buffer` may be null.
struct SgdStep {
  float lr, momentum, one_minus_dampening, weight_decay;
  bool nesterov;
};
struct AdamwStep {
  double lr, beta1, beta2, eps, weight_decay, correction1, correction2;  // correction = 1 - beta^t
};
struct RmspropStep {
  double lr, alpha, eps, momentum, weight_decay;
};
struct DropoutStep {
  uint64_t key;
  uint32_t sample, step, stream, threshold;  // kept where the random word >= threshold
  float scale;
};

/// Loops of n elements. Outputs may be the same memory as an input, element for element, never shifted.
/// Those that return uint32_t return not 0 where a result is not finite.
struct FlatKernels {
  const char* isa;

  void (*relu)(float* y, const float* x, int64_t n);  // a NaN stays one
  void (*relu_grad)(float* dx, const float* dy, const float* y, int64_t n);
  /// y = x[0][at + i] + x[1][at + i] + ..., in order.
  void (*sum)(float* y, const float* const* x, int64_t terms, int64_t at, int64_t n);
  void (*sum_relu)(float* y, const float* const* x, int64_t terms, int64_t at, int64_t n);
  void (*sum_relu_grad)(float* dx, const float* const* dy, int64_t terms, int64_t at, const float* y, int64_t n);
  void (*weighted_sum)(float* y, const float* const* x, const double* w, int64_t terms, int64_t at, int64_t n);
  void (*multiply)(float* y, const float* x, float a, int64_t n);
  void (*add_vector)(float* y, const float* x, const float* b, int64_t n);
  void (*add_scalar)(float* y, const float* x, float b, int64_t n);
  double (*total)(const float* x, int64_t n);
  void (*accumulate)(double* sum, const float* x, int64_t n);  // sum[i] += x[i]
  void (*normalize_u8)(float* y, const uint8_t* x, float mean, float stdev, int64_t n);
  void (*normalize_f32)(float* y, const float* x, float mean, float stdev, int64_t n);

  uint32_t (*not_finite)(const float* x, int64_t n);
  double (*squares)(const float* x, int64_t n);
  uint32_t (*sgd)(float* p, const float* grad, float* momentum_buffer, int64_t n, const SgdStep& s);
  uint32_t (*lars)(float* p, const float* grad, float* momentum_buffer, int64_t n, double momentum, double rate,
                   double weight_decay);
  uint32_t (*rmsprop)(float* p, const float* grad, float* square_avg, float* momentum_buffer, int64_t n,
                      const RmspropStep& s);
  uint32_t (*adamw)(float* p, const float* grad, float* m, float* v, int64_t n, const AdamwStep& s);
  uint32_t (*ema)(float* shadow, const float* p, int64_t n, double decay);

  /// Elements [first, first + n) of one sample; `first` is a multiple of 4.
  void (*dropout)(float* y, const float* x, int64_t first, int64_t n, const DropoutStep& s);

  /// LRN on a tile of n neighbouring positions of a row-major sample: x[c * area + i]. `work`: 2 * channels * n.
  void (*lrn)(float* y, const float* x, int64_t channels, int64_t area, int64_t n, int64_t half, float alpha,
              float beta, float k);
  void (*lrn_grad)(float* dx, const float* dy, const float* x, int64_t channels, int64_t area, int64_t n,
                   int64_t half, float alpha, float beta, float k, float* work);
};

/// Those of this processor: chosen once.
const FlatKernels& flat();
/// The i-th that this processor can run, the best last; null behind them. For tests.
const FlatKernels* usable_flat(int i);

}  // namespace convoy::cpu
