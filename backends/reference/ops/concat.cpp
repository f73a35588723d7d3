// concat: y is x0, x1, ... one behind the other along an axis; slice, its gradient, takes a part back out.
// Blocks of contiguous elements are copied, of any type.
#include "kernels.hpp"

#include <cstring>
#include <utility>
#include <vector>

namespace convoy::reference {

namespace {

/// Blocks before the axis, and bytes of one step along it.
std::pair<int64_t, int64_t> around(const sdk::TensorView& t, int32_t axis) {
  int64_t outer = 1, inner = static_cast<int64_t>(element_bytes(t.dtype));
  for (std::size_t i = 0; i < t.dims.size(); ++i) {
    if (static_cast<int32_t>(i) < axis) outer *= t.dims[i];
    if (static_cast<int32_t>(i) > axis) inner *= t.dims[i];
  }
  return {outer, inner};
}

void concat(const KernelArgs& a) {
  const auto axis = static_cast<std::size_t>(a.node.attrs<ConcatAttrs>().axis);
  const auto [outer, inner] = around(a.node.out[0], static_cast<int32_t>(axis));
  const int64_t whole = a.node.out[0].dims[axis] * inner;
  int64_t at = 0;
  for (std::size_t k = 0; k < a.node.in.size(); ++k) {
    const int64_t part = a.node.in[k].dims[axis] * inner;
    for (int64_t o = 0; o < outer; ++o)
      std::memcpy(a.out<char>(0) + o * whole + at, a.in<char>(k) + o * part, static_cast<std::size_t>(part));
    at += part;
  }
}

void slice(const KernelArgs& a) {
  const auto attrs = a.node.attrs<SliceAttrs>();
  const auto [outer, inner] = around(a.node.in[0], attrs.axis);
  const int64_t whole = a.node.in[0].dims[static_cast<std::size_t>(attrs.axis)] * inner, part = attrs.length * inner;
  for (int64_t o = 0; o < outer; ++o)
    std::memcpy(a.out<char>(0) + o * part, a.in<char>(0) + o * whole + attrs.start * inner,
                static_cast<std::size_t>(part));
}

}  // namespace

sdk::KernelTable concat_kernels() { return {{Op::concat, concat, no_16_bit}, {Op::slice, slice, no_16_bit}}; }

}  // namespace convoy::reference
