// concat along an axis, and slice, its gradient: blocks of contiguous elements are copied.
#include "kernels.hpp"

#include <algorithm>

namespace convoy::reference {

namespace {

/// Elements before and behind the axis.
std::pair<int64_t, int64_t> around(const std::vector<int64_t>& dims, int32_t axis) {
  int64_t outer = 1, inner = 1;
  for (int32_t i = 0; i < axis; ++i) outer *= dims[static_cast<std::size_t>(i)];
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < dims.size(); ++i) inner *= dims[i];
  return {outer, inner};
}

void concat(const KernelArgs& a) {
  const int32_t axis = a.node.attrs<ConcatAttrs>().axis;
  const auto [outer, inner] = around(a.node.out[0].dims, axis);
  const int64_t whole = a.node.out[0].dims[static_cast<std::size_t>(axis)] * inner;
  int64_t at = 0;
  for (std::size_t k = 0; k < a.node.in.size(); ++k) {
    const int64_t part = a.node.in[k].dims[static_cast<std::size_t>(axis)] * inner;
    for (int64_t o = 0; o < outer; ++o) std::copy_n(a.in<Scalar>(k) + o * part, part, a.out<Scalar>(0) + o * whole + at);
    at += part;
  }
}

void slice(const KernelArgs& a) {
  const auto attrs = a.node.attrs<SliceAttrs>();
  const auto [outer, inner] = around(a.node.in[0].dims, attrs.axis);
  const int64_t whole = a.node.in[0].dims[static_cast<std::size_t>(attrs.axis)] * inner, part = attrs.length * inner;
  for (int64_t o = 0; o < outer; ++o)
    std::copy_n(a.in<Scalar>(0) + o * whole + attrs.start * inner, part, a.out<Scalar>(0) + o * part);
}

}  // namespace

sdk::KernelTable concat_kernels() { return {{Op::concat, concat}, {Op::slice, slice}}; }

}  // namespace convoy::reference
