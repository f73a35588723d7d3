// What a backend wants to know of each operator before it looks closer: its name in messages, and how much of its
// attributes this build understands. Formulas and inputs: convoy/ops.hpp.
#pragma once

#include <convoy/ops.hpp>

#include <cstdint>
#include <string>

namespace convoy::sdk {

struct OpFacts {
  Op op;
  const char* name;
  uint64_t attrs_bytes;  // of its attribute struct; 0 = it has none
};

/// Null for an operator newer than this build.
inline const OpFacts* find_op(Op op) {
  static constexpr OpFacts kOps[] = {
      {Op::conv2d, "conv2d", sizeof(ConvAttrs)},
      {Op::linear, "linear", 0},
      {Op::bias_add, "bias_add", 0},
      {Op::batch_norm, "batch_norm", sizeof(BatchNormAttrs)},
      {Op::batch_norm_infer, "batch_norm_infer", sizeof(BatchNormAttrs)},
      {Op::relu, "relu", 0},
      {Op::max_pool, "max_pool", sizeof(PoolAttrs)},
      {Op::avg_pool, "avg_pool", sizeof(PoolAttrs)},
      {Op::global_avg_pool, "global_avg_pool", sizeof(GlobalPoolAttrs)},
      {Op::lrn, "lrn", sizeof(LrnAttrs)},
      {Op::dropout, "dropout", sizeof(DropoutAttrs)},
      {Op::add, "add", 0},
      {Op::concat, "concat", sizeof(ConcatAttrs)},
      {Op::reshape, "reshape", sizeof(ReshapeAttrs)},
      {Op::softmax_xent, "softmax_xent", sizeof(SoftmaxXentAttrs)},
      {Op::weighted_sum, "weighted_sum", sizeof(WeightedSumAttrs)},
      {Op::cast, "cast", sizeof(CastAttrs)},
      {Op::image_normalize, "image_normalize", sizeof(ImageNormalizeAttrs)},
      {Op::conv2d_dgrad, "conv2d_dgrad", sizeof(ConvAttrs)},
      {Op::conv2d_wgrad, "conv2d_wgrad", sizeof(ConvAttrs)},
      {Op::linear_dgrad, "linear_dgrad", 0},
      {Op::linear_wgrad, "linear_wgrad", 0},
      {Op::bias_grad, "bias_grad", 0},
      {Op::batch_norm_grad, "batch_norm_grad", sizeof(BatchNormAttrs)},
      {Op::relu_grad, "relu_grad", 0},
      {Op::max_pool_grad, "max_pool_grad", sizeof(PoolAttrs)},
      {Op::avg_pool_grad, "avg_pool_grad", sizeof(PoolAttrs)},
      {Op::global_avg_pool_grad, "global_avg_pool_grad", sizeof(GlobalPoolAttrs)},
      {Op::lrn_grad, "lrn_grad", sizeof(LrnAttrs)},
      {Op::dropout_grad, "dropout_grad", sizeof(DropoutAttrs)},
      {Op::softmax_xent_grad, "softmax_xent_grad", sizeof(SoftmaxXentAttrs)},
      {Op::slice, "slice", sizeof(SliceAttrs)},
      {Op::add_n, "add_n", 0},
      {Op::sgd, "sgd", sizeof(SgdAttrs)},
      {Op::lars, "lars", sizeof(LarsAttrs)},
      {Op::rmsprop, "rmsprop", sizeof(RmspropAttrs)},
      {Op::adamw, "adamw", sizeof(AdamwAttrs)},
      {Op::ema, "ema", sizeof(EmaAttrs)},
      {Op::unscale_check, "unscale_check", sizeof(UnscaleCheckAttrs)},
      {Op::cast_copy, "cast_copy", sizeof(CastAttrs)},
      {Op::fill, "fill", sizeof(FillAttrs)},
      {Op::grads_ready, "grads_ready", sizeof(MarkerAttrs)},
      {Op::params_needed, "params_needed", sizeof(MarkerAttrs)},
  };
  for (const OpFacts& facts : kOps)
    if (facts.op == op) return &facts;
  return nullptr;
}

/// "max_pool", or "operator 4711".
inline std::string op_name(Op op) {
  const OpFacts* facts = find_op(op);
  return facts != nullptr ? facts->name : "operator " + std::to_string(static_cast<uint32_t>(op));
}

inline const char* dtype_name(DType t) {
  switch (t) {
    case DType::f32: return "f32";
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::u8: return "u8";
    case DType::i32: return "i32";
    case DType::i64: return "i64";
  }
  return "an unknown type";
}

/// Bytes of one element; 0 for an unknown type.
inline uint64_t dtype_bytes(DType t) {
  switch (t) {
    case DType::f32: case DType::i32: return 4;
    case DType::f16: case DType::bf16: return 2;
    case DType::u8: return 1;
    case DType::i64: return 8;
  }
  return 0;
}

/// Why a backend of this build cannot understand the node at all, or "": an unknown operator or version, attributes
/// that are missing, or newer ones that say something (bytes behind the struct known here that are not zero).
inline std::string not_understood(const NodeDesc& n) {
  const OpFacts* facts = find_op(n.op);
  if (facts == nullptr) return op_name(n.op) + " is newer than this backend";
  if (n.op_version != 1) return "version " + std::to_string(n.op_version) + " of " + facts->name + " is newer than this backend";
  if (facts->attrs_bytes > 0 && (n.attrs == nullptr || n.attrs_size == 0))
    return std::string(facts->name) + " came without its attributes";
  const auto* bytes = static_cast<const unsigned char*>(n.attrs);
  for (uint64_t i = facts->attrs_bytes; i < n.attrs_size; ++i)
    if (bytes[i] != 0) return std::string(facts->name) + " has an attribute that is newer than this backend";
  return "";
}

}  // namespace convoy::sdk
