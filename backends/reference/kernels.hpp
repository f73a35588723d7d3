// The reference kernels: plain loops, one operator a function, for the whole catalogue. Correct before anything else:
// sums are formed in double, index arithmetic is hoisted out of loops, nothing is fast. One thread.
// The scalar type of f32 tensors is a build setting, so that tests run the very same code in double.
#pragma once

#include <convoy/sdk/kernels.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>

#ifndef CONVOY_REFERENCE_SCALAR
#define CONVOY_REFERENCE_SCALAR float
#endif

namespace convoy::reference {

using Scalar = CONVOY_REFERENCE_SCALAR;
using sdk::KernelArgs;
using sdk::NodeView;

/// All kernels; one stem in ops/ each.
const sdk::KernelTable& kernels();

/// The same function for f32 and integers, the types that exist here.
inline std::string no_16_bit(const NodeView& n) {
  for (const auto* tensors : {&n.in, &n.out})
    for (const sdk::TensorView& t : *tensors)
      if (t.present && (t.dtype == DType::f16 || t.dtype == DType::bf16))
        return std::string(sdk::dtype_name(t.dtype)) + " is not computed here; f32, u8, i32 and i64 are";
  return "";
}

/// f32 throughout, but for these inputs and outputs.
struct TypeRule {
  bool output;
  std::size_t index;
  DType dtype;
};
inline std::string f32_but(NodeView n, std::initializer_list<TypeRule> rules) {
  for (const TypeRule& r : rules) {
    auto& tensors = r.output ? n.out : n.in;
    if (r.index >= tensors.size() || !tensors[r.index].present) continue;
    if (tensors[r.index].dtype != r.dtype)
      return std::string(r.output ? "output " : "input ") + std::to_string(r.index) + " is " +
             sdk::dtype_name(tensors[r.index].dtype) + " and must be " + sdk::dtype_name(r.dtype);
    tensors[r.index].present = false;
  }
  return sdk::f32_only(n);
}

/// Bytes of an element as this build holds it.
inline uint64_t element_bytes(DType t) { return t == DType::f32 ? sizeof(Scalar) : sdk::dtype_bytes(t); }

}  // namespace convoy::reference
