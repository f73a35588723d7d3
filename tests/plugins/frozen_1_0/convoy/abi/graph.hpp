// Graphs: flat, immutable tables that the core owns, and the builder with which a model fills them.
// What each operator means, its inputs, outputs and attributes: convoy/ops.hpp. Not a file format.
#pragma once

#include "object.hpp"

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
#endif

namespace convoy {
inline namespace abi1 {

/// The catalogue, opset 1. A backend refuses what it does not know, and never guesses.
enum class Op : uint32_t {
  conv2d = 1,
  linear = 2,
  bias_add = 3,
  batch_norm = 4,
  batch_norm_infer = 5,
  relu = 6,
  max_pool = 7,
  avg_pool = 8,
  global_avg_pool = 9,
  lrn = 10,
  dropout = 11,
  add = 12,
  concat = 13,
  reshape = 14,
  softmax_xent = 15,
  weighted_sum = 16,
  cast = 17,
  image_normalize = 18,
  conv2d_dgrad = 33,
  conv2d_wgrad = 34,
  linear_dgrad = 35,
  linear_wgrad = 36,
  bias_grad = 37,
  batch_norm_grad = 38,
  relu_grad = 39,
  max_pool_grad = 40,
  avg_pool_grad = 41,
  global_avg_pool_grad = 42,
  lrn_grad = 43,
  dropout_grad = 44,
  softmax_xent_grad = 45,
  slice = 46,
  add_n = 47,
  sgd = 65,
  lars = 66,
  rmsprop = 67,
  adamw = 68,
  ema = 69,
  unscale_check = 70,
  cast_copy = 71,
  fill = 72,
  grads_ready = 97,
  params_needed = 98,
};

/// What a tensor is to the step. All but activation and saved_opaque are *boundary* values: the core owns
/// their memory, binds it once, and its address stays fixed for the life of the executable.
enum class Role : uint32_t {
  activation = 1,    // lives within the step
  input = 2,         // written by the core before the step: images, labels
  param = 3,         // trained
  grad = 4,          // gradient of a param
  state = 5,         // kept across steps, not trained: running statistics, optimiser state
  saved_opaque = 6,  // what a backend's own backward wants from its forward
  scalar = 7,        // small input that changes from step to step: learning rate, loss scale, random counter
  output = 8,        // read by the core after the step: loss, counters, logits
  frozen = 9,        // stored and loaded with the weights, never updated: a fixed BatchNorm scale
};

enum class Phase : uint32_t { forward = 1, backward = 2, update = 3, marker = 4 };

/// A tensor. Logical layout: activations (N, C, H, W) or (N, features), convolution weights (K, C/groups, R,
/// S), linear weights (out, in). The physical layout is the backend's affair.
struct TensorDesc {
  int64_t dim[6];          // the first `rank` count
  uint32_t rank;           // 0 = a scalar of one element
  DType dtype;
  Role role;
  int32_t alias_of;        // this value is the updated content of that boundary value, in its memory; -1 = none
  int32_t bucket;          // gradient bucket, -1 = none
  uint32_t pad;
  uint64_t bucket_offset;  // bytes from the bucket's start
  Str name;                // "layer1.0.conv1.weight", "images"; unique among boundary values; may be empty
};

/// One application of an operator. Edges of its inputs are edges[first_in, first_in + n_in), likewise outputs.
struct NodeDesc {
  Op op;
  uint32_t op_version;  // 1
  uint32_t first_in;
  uint32_t n_in;
  uint32_t first_out;
  uint32_t n_out;
  Phase phase;
  uint32_t scope;       // index into GraphView::scopes
  const void* attrs;    // the operator's attribute struct of convoy/ops.hpp, or null where it has none
  uint64_t attrs_size;
  Str name;             // "layer1.0.conv1"
};

/// A whole graph: of inference, or of a training step (forward, backward, update). Static shapes, single
/// assignment, nodes in an order in which they can run. Immutable; valid until the executable is destroyed.
struct GraphView {
  uint32_t struct_size;
  uint32_t opset;
  Rows<TensorDesc> tensors;
  Rows<NodeDesc> nodes;
  Span<const Value> edges;  // may hold kNoValue for an absent optional input
  Rows<Str> scopes;         // scope 0 is ""
  uint64_t hash;            // of structure, shapes and attributes; names do not count
};

/// The core's graph builder. Shapes are inferred, and refused, on each call, so that a mistake is reported by
/// the call that made it. Errors: invalid, with both shapes in the message. Threads: the caller's only.
struct IGraphBuilder : IObject {
  /// A boundary input. The core may feed it from 8-bit data through image_normalize without telling the model.
  virtual Code input(Str name, DType t, Span<const int64_t> dims, Value* out) noexcept = 0;
  /// A trained parameter. `init`: "zeros", "ones", "constant(a)", "normal(mean, stdev)", "uniform(lo, hi)",
  /// "trunc_normal(stdev)" (cut at 2 stdev), "kaiming_normal_fan_out", "kaiming_normal_fan_in",
  /// "xavier_uniform", "xavier_gaussian_in(magnitude)", "torch_default" (uniform within 1/sqrt(fan_in); a bias
  /// names its fan: "torch_default_bias(fan_in)").
  virtual Code param(Str name, DType t, Span<const int64_t> dims, Str init, Value* out) noexcept = 0;
  /// Kept across steps and not trained: running statistics.
  virtual Code state(Str name, DType t, Span<const int64_t> dims, Str init, Value* out) noexcept = 0;
  /// Stored and loaded like a parameter, never updated.
  virtual Code frozen(Str name, DType t, Span<const int64_t> dims, Str init, Value* out) noexcept = 0;
  /// Adds a node. `attrs` is copied. `out` must have exactly the operator's number of outputs.
  virtual Code node(Op op, Span<const Value> in, const void* attrs, uint64_t attrs_size, Str name,
                    Span<Value> out) noexcept = 0;
  /// push = 1 enters a scope (for reports only), push = 0 leaves the innermost; `name` is then ignored.
  virtual Code scope(Str name, uint32_t push) noexcept = 0;
  /// Describes a value; writes at most `out_size` bytes.
  virtual Code shape(Value v, TensorDesc* out, uint64_t out_size) noexcept = 0;
};

/// What a model is built for. Zero means "not stated".
struct ModelSpec {
  uint32_t struct_size;
  uint32_t batch;     // samples in one step of one replica
  uint32_t channels;
  uint32_t height;    // pixels
  uint32_t width;
  uint32_t classes;
  DType dtype;        // of images as the model sees them
  uint32_t training;  // 1: batch statistics, dropout, auxiliary heads; 0: inference
};

/// A model: a function that emits a forward graph. It never sees gradients.
struct IModel : IObject {
  static constexpr const char* id = "convoy.model.1";

  /// Fills the fields of `s` that are zero with what the network was made for (channels, height, width,
  /// classes); leaves others alone.
  virtual Code defaults(ModelSpec* s) noexcept = 0;
  /// Emits the graph. Inputs are "images" (batch, channels, height, width) of s.dtype and "labels" (batch) of
  /// i32. Sets `loss` (a scalar f32) and `logits` (batch, classes). Parameters must not depend on s.training,
  /// but for parts that exist in training only.
  virtual Code build(const ModelSpec& s, IGraphBuilder& g, Value* loss, Value* logits) noexcept = 0;
};

}  // namespace abi1
}  // namespace convoy

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
