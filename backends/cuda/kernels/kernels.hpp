// This backend's own kernels, as plain functions: everything but convolutions and matrix products.
// Not operators of a graph: the lowering decides which of these a node, or several, become. No CUDA C++ in here.
//
// Layouts. Activations are NHWC: a matrix of `rows` = N H W pixels by `c` channels; matrices [N, C] are that with
// H W = 1. `ld` is the distance between two pixels in elements, so that a tensor may be a range of channels of a
// wider one; 0 means packed, ld = c. Convolution weights are KRSC.
// Types. Type is what the memory holds; arithmetic is f32, sums over many elements end in f64. Parameters,
// statistics and losses are f32. "f" marks what is f32 whatever Type says.
// Speed. Accesses are 16 bytes wide where pointers are 16-byte aligned and c and every ld are multiples of 16
// bytes; else element by element, also right.
// Every launcher only enqueues: no allocation, no synchronisation, so it may be captured. Memory is device memory,
// borrowed until the stream has passed; scratch is uninitialised, 16-byte aligned, *_scratch_bytes() large, and
// free again behind the launch. In place is allowed where it says so, else outputs overlap no input.
// Results are the same bits in every run on one device: no atomics on floats.
// Errors: cudaErrorInvalidValue for sizes, types or combinations not allowed here, else the launch's own.
// Empty tensors (rows or c 0) are allowed and enqueue nothing.
// Threads: any; a stream is one thread's at a time.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace convoy::cuda {

/// Element types. Integers only where a function says so.
enum class Type : int32_t { f32, bf16, f16, u8, i32, i64 };

constexpr int64_t size_of(Type t) {
  switch (t) {
    case Type::f32:
    case Type::i32: return 4;
    case Type::bf16:
    case Type::f16: return 2;
    case Type::u8: return 1;
    case Type::i64: return 8;
  }
  return 0;
}

/// A tensor that is read. Absent where data is null, if the argument is optional.
struct In {
  const void* data = nullptr;
  int64_t ld = 0;  // elements between pixels; 0 = packed
};
/// A tensor that is written.
struct Out {
  void* data = nullptr;
  int64_t ld = 0;
};

// ---- layout.cu: layouts and types -----------------------------------------------------------------------------

/// y[n,h,w,c] = (x - mean[c]) / stdev[c]; channels from c up to c_padded are zeros.
struct ImageNormalizeArgs {
  const void* x = nullptr;  // packed
  Type x_type = Type::u8;   // u8 or f32
  bool x_nhwc = false;      // else NCHW
  Out y;                    // NHWC, ld >= c_padded; 0 = c_padded
  Type y_type = Type::f32;
  int64_t n = 0, h = 0, w = 0;
  int64_t c = 0;         // at most 4
  int64_t c_padded = 0;  // at least c, at most 8
  float mean[4] = {}, stdev[4] = {1, 1, 1, 1};
};
cudaError_t image_normalize(const ImageNormalizeArgs&, cudaStream_t);

/// NCHW <-> NHWC with a change of type. Convolution weights KCRS <-> KRSC are the same thing: n = K, area = R S.
/// To NHWC, channels from c up to c_padded become zeros; from NHWC, only c channels are taken.
/// Types: f32, bf16, f16 on either side.
struct TransposeArgs {
  const void* x = nullptr;
  Type x_type = Type::f32;
  void* y = nullptr;
  Type y_type = Type::f32;
  int64_t n = 0, c = 0, area = 0;  // area = H W
  int64_t c_padded = 0;            // channels of the NHWC side that are written; 0 = c
  int64_t ld = 0;                  // of the NHWC side; 0 = c_padded, or c where that is 0
};
cudaError_t nchw_to_nhwc(const TransposeArgs&, cudaStream_t);
cudaError_t nhwc_to_nchw(const TransposeArgs&, cudaStream_t);

/// y[i] = x[i], all types; floats become integers towards zero.
struct CastArgs {
  const void* x = nullptr;
  Type x_type = Type::f32;
  void* y = nullptr;
  Type y_type = Type::f32;
  int64_t count = 0;
};
cudaError_t cast(const CastArgs&, cudaStream_t);

/// y[i] = value, all types.
struct FillArgs {
  void* y = nullptr;
  Type type = Type::f32;
  int64_t count = 0;
  double value = 0;
};
cudaError_t fill(const FillArgs&, cudaStream_t);

// ---- concat.cu --------------------------------------------------------------------------------------------------

/// y = x, `c` channels of each row: slice, or one input of a concat, by pointers into the wider tensor and its ld.
/// Other axes: rows = the blocks before the axis, c = elements of a block, ld = the wider tensor's block.
struct CopyArgs {
  In x;
  Out y;
  Type type = Type::f32;
  int64_t rows = 0, c = 0;
};
cudaError_t copy_channels(const CopyArgs&, cudaStream_t);

constexpr int kMaxSources = 8;

/// y = x[0], x[1], ... side by side: one launch. More than kMaxSources: call again with y further on.
struct ConcatArgs {
  In x[kMaxSources];
  int64_t c[kMaxSources] = {};
  int n = 0;
  Out y;  // ld 0 = the sum of c
  Type type = Type::f32;
  int64_t rows = 0;
};
cudaError_t concat(const ConcatArgs&, cudaStream_t);

// ---- elementwise.cu -----------------------------------------------------------------------------------------------

/// y = max(x, 0); a NaN stays one. In place allowed.
struct ReluArgs {
  In x;
  Out y;
  Type type = Type::f32;
  int64_t rows = 0, c = 0;
};
cudaError_t relu(const ReluArgs&, cudaStream_t);

/// dx = (dy + dy2 where y > 0, else 0) + after. In place on any input allowed.
struct ReluGradArgs {
  In dy;
  In dy2;    // optional: a second gradient of the same value
  In y;      // the relu's output
  In after;  // optional: another gradient of x
  Out dx;
  Type type = Type::f32;
  int64_t rows = 0, c = 0;
};
cudaError_t relu_grad(const ReluGradArgs&, cudaStream_t);

/// y = a + b, then relu if asked. In place on either allowed.
struct AddArgs {
  In a, b;
  Out y;
  bool relu = false;
  Type type = Type::f32;
  int64_t rows = 0, c = 0;
};
cudaError_t add(const AddArgs&, cudaStream_t);

/// y = sum over i of weight[i] x[i], in order, rounded once: weighted_sum, and add_n with weights 1.
/// In place on any input allowed.
struct WeightedSumArgs {
  In x[kMaxSources];
  float weight[kMaxSources] = {1, 1, 1, 1, 1, 1, 1, 1};
  int n = 0;
  Out y;
  Type type = Type::f32;
  int64_t rows = 0, c = 0;
};
cudaError_t weighted_sum(const WeightedSumArgs&, cudaStream_t);

// ---- bias.cu --------------------------------------------------------------------------------------------------------

/// y = x + bias[c] + add, then relu if asked. In place on x or add allowed.
struct BiasAddArgs {
  In x;
  const float* bias = nullptr;  // f[c]
  In add;                       // optional
  bool relu = false;
  Out y;
  Type type = Type::f32;
  int64_t rows = 0, c = 0;
};
cudaError_t bias_add(const BiasAddArgs&, cudaStream_t);

/// d = dy, or dy where y > 0 if y is given (a relu behind the bias); dbias = sum over rows of d; dx = d if given.
/// dx in place on dy allowed.
struct BiasGradArgs {
  In dy;
  In y;                    // optional
  Out dx;                  // optional
  float* dbias = nullptr;  // f[c]
  Type type = Type::f32;
  int64_t rows = 0, c = 0;
  void* scratch = nullptr;
};
size_t bias_grad_scratch_bytes(int64_t rows, int64_t c);
cudaError_t bias_grad(const BiasGradArgs&, cudaStream_t);

// ---- batch_norm.cu --------------------------------------------------------------------------------------------------

/// Bytes of the mask of y > 0 that a training forward leaves for its gradient. Private layout: a bit an element in
/// 16-bit types, 8 channels to the byte (f32: 4) where c allows; a byte an element else.
/// With a mask and c a multiple of 16 bytes, pointers and lds must be too.
size_t batch_norm_mask_bytes(int64_t rows, int64_t c, Type type);

/// Biased moments of each channel over rows; saved_inv_std = 1 / sqrt(var + eps). Running statistics in place:
/// r = (1 - momentum) r + momentum batch, the variance unbiased (rows > 1). Optional: both null.
/// Sums are of x - x[first row], so that a mean far from zero does not eat the variance.
struct BatchNormStatisticsArgs {
  In x;
  Type type = Type::f32;
  int64_t rows = 0, c = 0;
  float* saved_mean = nullptr;
  float* saved_inv_std = nullptr;
  const float* running_mean = nullptr;  // optional, with the three below
  const float* running_var = nullptr;
  float* new_running_mean = nullptr;  // may be running_mean
  float* new_running_var = nullptr;
  double eps = 1e-5, momentum = 0.1;
  void* scratch = nullptr;
};
size_t batch_norm_statistics_scratch_bytes(int64_t rows, int64_t c);
cudaError_t batch_norm_statistics(const BatchNormStatisticsArgs&, cudaStream_t);

/// The same from sums that a convolution's epilogue made: sum[c] of x, squares[c] of x^2, both f.
/// x and scratch of `a` are not used.
cudaError_t batch_norm_finalize(const float* sum, const float* squares, const BatchNormStatisticsArgs& a,
                                cudaStream_t);

/// y = gamma (x - mean) inv_std + beta + add, then relu if asked, and its mask. In place on x or add allowed.
/// As batch_norm's second half, or batch_norm_infer with `var` instead of inv_std.
struct BatchNormApplyArgs {
  In x;
  const float *gamma = nullptr, *beta = nullptr, *mean = nullptr;
  const float* inv_std = nullptr;  // this, or var with eps
  const float* var = nullptr;
  double eps = 1e-5;
  In add;  // optional
  bool relu = false;
  uint8_t* mask = nullptr;  // optional, with relu: batch_norm_mask_bytes
  Out y;
  Type type = Type::f32;
  int64_t rows = 0, c = 0;
};
cudaError_t batch_norm_apply(const BatchNormApplyArgs&, cudaStream_t);

/// Gradient of y = relu(batch_norm(x) + add). d = dy + dy2, and 0 where the relu gave 0: by `mask`, else by y > 0 if
/// y is given, else there was no relu. With xh = (x - mean) inv_std:
/// dbeta = sum d; dgamma = sum d xh; dx = gamma inv_std (d - dbeta / rows - xh dgamma / rows); dadd = d.
/// In place: dadd on dy or dy2, dx on x, dy or dy2 (not where dadd is).
struct BatchNormGradArgs {
  In dy;
  In dy2;  // optional
  In x;
  const uint8_t* mask = nullptr;  // optional
  In y;                           // optional
  const float *gamma = nullptr, *saved_mean = nullptr, *saved_inv_std = nullptr;
  Out dx;
  Out dadd;  // optional
  float *dgamma = nullptr, *dbeta = nullptr;
  Type type = Type::f32;
  int64_t rows = 0, c = 0;
  void* scratch = nullptr;
};
size_t batch_norm_grad_scratch_bytes(int64_t rows, int64_t c);
cudaError_t batch_norm_grad(const BatchNormGradArgs&, cudaStream_t);

/// BatchNorm behind a convolution or linear layer becomes part of it: with s = gamma / sqrt(var + eps),
/// w_out[k][i] = s[k] w[k][i], bias_out[k] = (bias[k] - mean[k]) s[k] + beta[k]. In place allowed where types agree.
struct FoldBatchNormArgs {
  const float* w = nullptr;     // f[k][per_output], any order behind k
  const float* bias = nullptr;  // optional, f[k]
  const float *gamma = nullptr, *beta = nullptr, *mean = nullptr, *var = nullptr;
  double eps = 1e-5;
  void* w_out = nullptr;
  Type w_type = Type::f32;
  void* bias_out = nullptr;
  Type bias_type = Type::f32;
  int64_t k = 0, per_output = 0;
};
cudaError_t fold_batch_norm(const FoldBatchNormArgs&, cudaStream_t);

// ---- pool.cu --------------------------------------------------------------------------------------------------------

/// Sizes of a pooling layer, as PoolAttrs of convoy/ops.hpp. Every window must hold an element of the input.
struct PoolShape {
  int64_t n = 0, h = 0, w = 0, c = 0;
  int64_t p = 0, q = 0;  // output
  int window[2] = {1, 1}, stride[2] = {1, 1}, pad_lo[2] = {}, pad_hi[2] = {};
  bool count_include_pad = false;  // avg_pool
};

/// Bytes of `argmax`: a byte an output element; 0 where the window has more than 255 elements and so can have none.
size_t max_pool_argmax_bytes(const PoolShape&);

/// y = the window's largest; a NaN is the largest. argmax, optional: where in the window the first of them is.
struct MaxPoolArgs {
  PoolShape shape;
  Type type = Type::f32;
  In x;
  Out y;
  uint8_t* argmax = nullptr;  // packed [n,p,q,c]
  bool relu = false;          // y = max(y, 0): a relu before or behind the pool is the same
};
cudaError_t max_pool(const MaxPoolArgs&, cudaStream_t);

/// dx = sum of dy over the windows whose first maximum (row-major) this is. With argmax x is not read, without it
/// the maxima are searched again.
struct MaxPoolGradArgs {
  PoolShape shape;
  Type type = Type::f32;
  In dy;
  In x;                             // where argmax is null
  const uint8_t* argmax = nullptr;  // optional
  Out dx;
};
cudaError_t max_pool_grad(const MaxPoolGradArgs&, cudaStream_t);

/// avg_pool: x -> y; avg_pool_grad: x is dy (n,p,q,c), y is dx (n,h,w,c).
struct AvgPoolArgs {
  PoolShape shape;
  Type type = Type::f32;
  In x;
  Out y;
};
cudaError_t avg_pool(const AvgPoolArgs&, cudaStream_t);
cudaError_t avg_pool_grad(const AvgPoolArgs&, cudaStream_t);

/// global_avg_pool: x (n,area,c) -> y (n,c), the mean; grad: x is dy (n,c), y is dx (n,area,c), dy / area.
struct GlobalAvgPoolArgs {
  In x;
  Out y;
  Type type = Type::f32;
  int64_t n = 0, area = 0, c = 0;
};
cudaError_t global_avg_pool(const GlobalAvgPoolArgs&, cudaStream_t);
cudaError_t global_avg_pool_grad(const GlobalAvgPoolArgs&, cudaStream_t);

// ---- lrn.cu ---------------------------------------------------------------------------------------------------------

/// y = x s^-beta, s = k + alpha / size * sum of x^2 over `size` channels around (odd, clipped at the ends).
/// size at most 63.
struct LrnArgs {
  In x;
  In dy;  // lrn_grad
  Out y;  // lrn; dx of lrn_grad
  Type type = Type::f32;
  int64_t rows = 0, c = 0;
  int size = 5;
  double alpha = 1e-4, beta = 0.75, k = 1;
};
cudaError_t lrn(const LrnArgs&, cudaStream_t);
/// dx[c] = dy[c] s[c]^-beta - 2 alpha beta / size x[c] sum over windows j that hold c of dy[j] x[j] s[j]^(-beta-1)
cudaError_t lrn_grad(const LrnArgs&, cudaStream_t);

// ---- dropout.cu -----------------------------------------------------------------------------------------------------

/// y = x keep / (1 - p), also the gradient (x is dy). keep is DropoutAttrs' of convoy/ops.hpp, drawn anew each time:
/// element e of a sample is its logical NCHW index c * area + pixel. In place allowed.
struct DropoutArgs {
  In x;
  Out y;
  Type type = Type::f32;
  int64_t n = 0, area = 1, c = 0;
  const int64_t* rng = nullptr;  // {seed, step, first sample, 0} in device memory
  uint32_t stream = 0;
  double p = 0.5;
};
cudaError_t dropout(const DropoutArgs&, cudaStream_t);

// ---- softmax_xent.cu ------------------------------------------------------------------------------------------------

/// loss = mean over samples with label >= 0 of -sum t log p; top1, top5 count hits; as convoy/ops.hpp says.
/// A label of k or more makes the loss NaN: a device cannot refuse.
struct SoftmaxXentArgs {
  In logits;  // (n, k)
  Type type = Type::f32;
  const int32_t* labels = nullptr;           // n
  float* loss = nullptr;                     // one
  float* probs = nullptr;                    // f(n, k) packed
  int32_t *top1 = nullptr, *top5 = nullptr;  // one each; optional
  int64_t n = 0, k = 0;
  double label_smoothing = 0;
  void* scratch = nullptr;
};
size_t softmax_xent_scratch_bytes(int64_t n);
cudaError_t softmax_xent(const SoftmaxXentArgs&, cudaStream_t);

/// dlogits = scale (p - t) / number of counted samples, 0 in samples that do not count.
struct SoftmaxXentGradArgs {
  const float* probs = nullptr;  // f(n, k) packed
  const int32_t* labels = nullptr;
  const float* scale = nullptr;  // one, device
  Out dlogits;
  Type type = Type::f32;
  int64_t n = 0, k = 0;
  double label_smoothing = 0;
};
cudaError_t softmax_xent_grad(const SoftmaxXentGradArgs&, cudaStream_t);

// ---- update.cu: flat vectors ----------------------------------------------------------------------------------------

/// What every update rule has. A vector may be one parameter or many that lie side by side.
/// The gradient that counts is grad_factor grad. Where *skip is not 0 nothing is written.
struct UpdateArgs {
  float* p = nullptr;          // f, in place: the master
  const void* grad = nullptr;  // f32, bf16, f16
  Type grad_type = Type::f32;
  void* copy = nullptr;  // optional: the updated p in copy_type
  Type copy_type = Type::bf16;
  int64_t count = 0;
  const float* lr = nullptr;           // one, device
  const float* grad_factor = nullptr;  // optional, device: 1 / loss scale, as unscale_check gives it
  const int32_t* skip = nullptr;       // optional, device: unscale_check's not_finite
};

/// g = grad + weight_decay p; b = momentum b + (1 - dampening) g; p -= lr (nesterov ? g + momentum b : b)
struct SgdArgs : UpdateArgs {
  float* momentum_buffer = nullptr;  // f, in place; null: no momentum
  double momentum = 0, dampening = 0, weight_decay = 0;
  bool nesterov = false;
};
cudaError_t sgd(const SgdArgs&, cudaStream_t);

/// As LarsAttrs says; one parameter a call, since its norm counts.
struct LarsArgs : UpdateArgs {
  float* momentum_buffer = nullptr;
  double momentum = 0, weight_decay = 0, trust = 1e-3, eps = 0;
  void* scratch = nullptr;
};
size_t lars_scratch_bytes(int64_t count);
cudaError_t lars(const LarsArgs&, cudaStream_t);

/// As RmspropAttrs says.
struct RmspropArgs : UpdateArgs {
  float* square_avg = nullptr;
  float* momentum_buffer = nullptr;  // null: no momentum
  double alpha = 0.99, eps = 1e-8, momentum = 0, weight_decay = 0;
};
cudaError_t rmsprop(const RmspropArgs&, cudaStream_t);

/// As AdamwAttrs says.
struct AdamwArgs : UpdateArgs {
  float *m = nullptr, *v = nullptr;
  const float* t = nullptr;  // one, device: 1 at the first step
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
};
cudaError_t adamw(const AdamwArgs&, cudaStream_t);

/// shadow = decay shadow + (1 - decay) p
struct EmaArgs {
  float* shadow = nullptr;
  const float* p = nullptr;
  int64_t count = 0;
  double decay = 0;
};
cudaError_t ema(const EmaArgs&, cudaStream_t);

struct Vector {
  const void* data = nullptr;
  int64_t count = 0;
};
/// not_finite = 1 where any gradient, unscaled, is not finite (or the scale is not); factor = 1 / scale, times
/// clip_norm / norm where clip_norm > 0 and the norm of all unscaled gradients is larger; 0 where not finite.
struct UnscaleCheckArgs {
  const Vector* grads = nullptr;  // host memory, read during the call
  int n = 0;
  Type type = Type::f32;
  const float* scale = nullptr;  // one, device
  double clip_norm = 0;
  int32_t* not_finite = nullptr;
  float* factor = nullptr;
  void* scratch = nullptr;
};
size_t unscale_check_scratch_bytes(int n);
cudaError_t unscale_check(const UnscaleCheckArgs&, cudaStream_t);

// ---- conv_direct.cu: where cuDNN refuses a shape. Right for any of them, slow for all ---------------------------------

/// Cross-correlation, as ConvAttrs says; NHWC and KRSC, w packed [k][r][s][c / groups].
struct ConvShape {
  int64_t n = 0, h = 0, w = 0, c = 0;
  int64_t k = 0, p = 0, q = 0;
  int kernel[2] = {1, 1}, stride[2] = {1, 1}, dilation[2] = {1, 1}, pad_lo[2] = {};
  int groups = 1;
};
/// (x, w) -> y
struct ConvDirectArgs {
  ConvShape shape;
  Type type = Type::f32;  // of x, w, dy, y, dx
  In x;
  const void* w = nullptr;
  Out y;
};
cudaError_t conv_direct(const ConvDirectArgs&, cudaStream_t);
/// (dy, w) -> dx
struct ConvDirectDgradArgs {
  ConvShape shape;
  Type type = Type::f32;
  In dy;
  const void* w = nullptr;
  Out dx;
};
cudaError_t conv_direct_dgrad(const ConvDirectDgradArgs&, cudaStream_t);
/// (dy, x) -> dw
struct ConvDirectWgradArgs {
  ConvShape shape;
  Type type = Type::f32;
  In dy, x;
  void* dw = nullptr;
  Type dw_type = Type::f32;  // f32 or `type`
};
cudaError_t conv_direct_wgrad(const ConvDirectWgradArgs&, cudaStream_t);

}  // namespace convoy::cuda
