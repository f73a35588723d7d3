// The operator catalogue, opset 1: inputs, outputs, attributes and formula of every operator.
// Part of the border: attribute structs follow its rules. Shape rules and gradients are the core's; how an
// operator is computed is a backend's.
//
// Letters: N samples, C channels in, K channels out, H W input size, P Q output size, R S window, G groups.
// Output size of a window, padding lo and hi (PyTorch's and MXNet's rule):
//   P = floor((H + pad_lo + pad_hi - dilation * (R - 1) - 1) / stride) + 1
// with ceil instead of floor where ceil_mode is set, less one if the last window would begin in the hi padding.
// Scalars and random counters are values, not attributes, so that a captured step can follow them.
// Types are f32 unless said otherwise; "like x" means the same shape and type as x.
// "in place": the output is alias_of that input's boundary value and may be written over it.
#pragma once

#include "abi/graph.hpp"

namespace convoy {
inline namespace abi1 {

// ---- forward ------------------------------------------------------------------------------------------------

/// conv2d        (x[N,C,H,W], w[K,C/G,R,S]) -> y[N,K,P,Q]       cross-correlation, PyTorch's convention
/// conv2d_dgrad  (dy[N,K,P,Q], w)            -> dx[N,C,H,W]     H, W from input_size
/// conv2d_wgrad  (dy[N,K,P,Q], x[N,C,H,W])   -> dw[K,C/G,R,S]   R, S from kernel
/// All three carry the same attributes.
struct ConvAttrs {
  uint32_t struct_size;
  int32_t stride[2];      // height, width
  int32_t dilation[2];    // 1 = dense
  int32_t pad_lo[2];
  int32_t pad_hi[2];
  int32_t groups;
  int32_t kernel[2];      // R, S
  int32_t input_size[2];  // H, W
  DType compute;          // accumulation; f32
};

/// linear        (x[N,I], w[O,I]) -> y[N,O] = x w^T
/// linear_dgrad  (dy[N,O], w[O,I]) -> dx[N,I] = dy w
/// linear_wgrad  (dy[N,O], x[N,I]) -> dw[O,I] = dy^T x
/// No attributes.

/// bias_add      (x[N,C,...], b[C]) -> y like x       rank 2 or 4, b along dimension 1
/// bias_grad     (dy[N,C,...]) -> db[C]               sum over all dimensions but 1
/// No attributes.

/// batch_norm    (x[N,C,H,W], gamma[C], beta[C], running_mean[C], running_var[C])
///            -> (y like x, saved_mean[C], saved_inv_std[C], new_running_mean[C] in place, new_running_var[C] in
///               place)
///   mean, var = biased moments over N, H, W; y = gamma (x - mean) / sqrt(var + eps) + beta
///   running = (1 - momentum) running + momentum batch, the variance fed unbiased (n / (n - 1); n = 1: as it
///   is). PyTorch's convention.
/// batch_norm_infer (x, gamma, beta, mean, var) -> y
/// batch_norm_grad  (dy, x, gamma, saved_mean, saved_inv_std) -> (dx, dgamma, dbeta)
///   Ioffe and Szegedy 2015, section 3: with xh = (x - mean) inv_std and n = N H W,
///   dbeta = sum dy; dgamma = sum dy xh; dx = gamma inv_std (dy - dbeta / n - xh dgamma / n)
struct BatchNormAttrs {
  uint32_t struct_size;
  uint32_t pad;
  double eps;
  double momentum;
};

/// relu          (x) -> y = max(x, 0)
/// relu_grad     (dy, y) -> dx = dy where y > 0, else 0
/// No attributes.

/// max_pool      (x[N,C,H,W]) -> y[N,C,P,Q]           padding never wins
/// max_pool_grad (dy, x, y) -> dx like x              to the first maximum of the window in row-major order
/// avg_pool      (x) -> y
///   divides by the window's size where count_include_pad (padding counts, what hangs over the padded input in
///   ceil mode does not), else by the elements inside the input. PyTorch's convention.
/// avg_pool_grad (dy) -> dx[N,C,H,W]                  H, W from input_size
struct PoolAttrs {
  uint32_t struct_size;
  int32_t window[2];  // R, S
  int32_t stride[2];
  int32_t pad_lo[2];
  int32_t pad_hi[2];
  uint32_t ceil_mode;
  uint32_t count_include_pad;  // avg_pool only
  int32_t input_size[2];       // H, W
};

/// global_avg_pool      (x[N,C,H,W]) -> y[N,C]
/// global_avg_pool_grad (dy[N,C]) -> dx[N,C,H,W]
struct GlobalPoolAttrs {
  uint32_t struct_size;
  int32_t input_size[2];
};

/// lrn           (x[N,C,H,W]) -> y = x / (k + alpha / size * sum over `size` channels of x^2) ^ beta
///   The window is centred, size / 2 channels to each side (size odd), and clipped at the ends.
///   Krizhevsky 2012, section 3.3, with alpha divided by size as MXNet, Caffe and PyTorch do.
/// lrn_grad      (dy, x, y) -> dx like x
struct LrnAttrs {
  uint32_t struct_size;
  int32_t size;
  double alpha;
  double beta;
  double k;
};

/// dropout       (x, rng) -> y = x * keep / (1 - p)
/// dropout_grad  (dy, rng) -> dx, with the same keep
///   rng: i64[4] scalar input = {seed, step, first sample of this replica in the global batch, 0}.
///   keep of element e of sample n: Philox4x32-10 with key = seed and counter = {e / 4 (low 32 bits),
///   rng[2] + n, step, stream}, word e % 4; kept where that word >= p * 2^32. So results do not depend on how
///   a batch is split over replicas. p = 0: y = x.
struct DropoutAttrs {
  uint32_t struct_size;
  uint32_t stream;  // unique for each dropout of a graph
  double p;
};

/// add           (a, b) -> y = a + b                   same shapes
/// No attributes.

/// concat        (x0, x1, ...) -> y                    along `axis`
struct ConcatAttrs {
  uint32_t struct_size;
  int32_t axis;
};

/// slice         (x) -> y = x[start, start + length) along `axis`; also concat's gradient
struct SliceAttrs {
  uint32_t struct_size;
  int32_t axis;
  int64_t start;
  int64_t length;
};

/// reshape       (x) -> y[dim...]                      same number of elements, row-major
struct ReshapeAttrs {
  uint32_t struct_size;
  uint32_t rank;
  int64_t dim[6];
};

/// softmax_xent  (logits[N,K], labels i32[N]) -> (loss[], probs[N,K], top1 i32[], top5 i32[])
///   loss = mean over samples with label >= 0 of -sum_k t_k log p_k, t = (1 - s) onehot + s / K with smoothing
///   s (PyTorch's label_smoothing). Samples with a negative label do not count anywhere; none left: loss = 0.
///   top1, top5: samples whose label is among the 1 or 5 largest logits; of equal logits the lower index is
///   the larger. A NaN logit counts as no hit.
/// softmax_xent_grad (probs, labels, scale[]) -> dlogits = scale * (p - t) / number of counted samples, 0 in
///   samples that do not count
struct SoftmaxXentAttrs {
  uint32_t struct_size;
  uint32_t pad;
  double label_smoothing;
};

/// weighted_sum  (x0, x1, ...) -> y = sum_i weight[i] x_i       same shapes, at most 8
struct WeightedSumAttrs {
  uint32_t struct_size;
  uint32_t n;
  double weight[8];
};

/// cast          (x) -> y of type `to`
struct CastAttrs {
  uint32_t struct_size;
  DType to;
};

/// image_normalize (x[N,C,H,W] of u8 or f32) -> y f32 = (x - mean[c]) / stdev[c]     C at most 4
struct ImageNormalizeAttrs {
  uint32_t struct_size;
  float mean[4];
  float stdev[4];
};

// ---- backward, where not named above ------------------------------------------------------------------------

/// add_n         (x0, x1, ...) -> y = sum, in order     no attributes

// ---- update -------------------------------------------------------------------------------------------------
// Parameters, states and learning rate are f32. `lr` is a scalar f32[] input. PyTorch 2's conventions.

/// sgd           (p, grad, momentum_buffer or none, lr) -> (p in place, momentum_buffer in place or none)
///   g = grad + weight_decay p; with momentum: b = momentum b + (1 - dampening) g (b = g where b is fresh, which
///   zeros give for dampening 0), g = nesterov ? g + momentum b : b; p = p - lr g
///   Two outputs always; the second is kNoValue without momentum. Sutskever 2013 as PyTorch writes it.
struct SgdAttrs {
  uint32_t struct_size;
  uint32_t nesterov;
  double momentum;
  double dampening;
  double weight_decay;
};

/// lars          (p, grad, momentum_buffer, lr) -> (p, momentum_buffer) in place
///   You 2017: local = trust |p| / (|grad| + weight_decay |p| + eps), 1 where |p| or |grad| is 0;
///   b = momentum b + local lr (grad + weight_decay p); p = p - b
struct LarsAttrs {
  uint32_t struct_size;
  uint32_t pad;
  double momentum;
  double weight_decay;
  double trust;
  double eps;
};

/// rmsprop       (p, grad, square_avg, momentum_buffer or none, lr) -> (p, square_avg, momentum_buffer or none)
///   in place: g = grad + weight_decay p; v = alpha v + (1 - alpha) g^2; d = g / (sqrt(v) + eps);
///   with momentum: b = momentum b + d, p = p - lr b; else p = p - lr d
struct RmspropAttrs {
  uint32_t struct_size;
  uint32_t pad;
  double alpha;
  double eps;
  double momentum;
  double weight_decay;
};

/// adamw         (p, grad, m, v, lr, t[]) -> (p, m, v) in place        t: f32, 1 at the first step
///   p = p - lr weight_decay p; m = beta1 m + (1 - beta1) grad; v = beta2 v + (1 - beta2) grad^2;
///   p = p - lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + eps). Loshchilov and Hutter 2019.
struct AdamwAttrs {
  uint32_t struct_size;
  uint32_t pad;
  double beta1;
  double beta2;
  double eps;
  double weight_decay;
};

/// ema           (shadow, p) -> shadow in place = decay shadow + (1 - decay) p
struct EmaAttrs {
  uint32_t struct_size;
  uint32_t pad;
  double decay;
};

/// unscale_check (scale[], g0, g1, ...) -> (not_finite i32[], factor f32[])
///   not_finite = 1 where any gradient is not finite; factor = 1 / scale, times clip_norm / norm where clip_norm
///   > 0 and the norm of all unscaled gradients together is larger; 0 where not finite.
struct UnscaleCheckAttrs {
  uint32_t struct_size;
  uint32_t pad;
  double clip_norm;  // 0 = none
};

/// cast_copy     (src) -> dst of type `to`: a 16-bit working copy of an f32 master
///   carries CastAttrs

/// fill          () -> y[dim...] of type `dtype`, all equal to `value`
struct FillAttrs {
  uint32_t struct_size;
  DType dtype;
  uint32_t rank;
  uint32_t pad;
  int64_t dim[6];
  double value;
};

// ---- markers ------------------------------------------------------------------------------------------------

/// grads_ready   (gradients of the bucket...) -> ()     the executable calls IStepHooks::grads_ready here
/// params_needed (parameters of the bucket...) -> ()    the executable calls IStepHooks::params_needed here
/// Order only: no data. A grads_ready stands after the last node that writes one of its gradients, a
/// params_needed before the first node that updates one of its parameters.
struct MarkerAttrs {
  uint32_t struct_size;
  uint32_t bucket;
};

}  // namespace abi1
}  // namespace convoy
