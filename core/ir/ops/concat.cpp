// concat along an axis, and slice, which is its gradient.
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

#include <fmt/format.h>

namespace convoy::ir {

namespace {

std::size_t checked_axis(const Inference& n, int32_t axis) {
  if (axis < 0 || static_cast<std::size_t>(axis) >= n.in(0).dims.size())
    n.refuse(fmt::format("axis is {}; 0 to {} is allowed", axis, n.in(0).dims.size() - 1));
  return static_cast<std::size_t>(axis);
}

void infer_concat(Inference& n) {
  const std::size_t axis = checked_axis(n, n.attrs<ConcatAttrs>().axis);
  auto dims = n.in(0).dims;
  for (std::size_t i = 1; i < n.inputs(); ++i) {
    auto other = n.in(i).dims;
    if (other.size() != dims.size()) n.refuse("inputs have different numbers of dimensions");
    const int64_t length = other[axis];
    other[axis] = dims[axis];
    if (other != dims) n.refuse(fmt::format("inputs differ in another dimension than axis {}", axis));
    dims[axis] += length;
  }
  n.give(n.in(0).dtype, dims);
}

void infer_slice(Inference& n) {
  const auto a = n.attrs<SliceAttrs>();
  const std::size_t axis = checked_axis(n, a.axis);
  auto dims = n.in(0).dims;
  if (a.start < 0 || a.length < 1 || a.start > dims[axis] - a.length)
    n.refuse(fmt::format("[{}, {}) is not within [0, {})", a.start, a.start + a.length, dims[axis]));
  dims[axis] = a.length;
  n.give(n.in(0).dtype, dims);
}

void gradient_concat(Backward& b) {
  const int32_t axis = b.attrs<ConcatAttrs>().axis;
  int64_t start = 0;
  for (std::size_t i = 0; i < b.node().in.size(); ++i) {
    const int64_t length = b.tensor(b.in(i)).dims[static_cast<std::size_t>(axis)];
    const SliceAttrs a{sizeof(SliceAttrs), axis, start, length};
    if (b.needed(i)) b.set(i, b.emit_one(Op::slice, {b.dy(0)}, pack(a), "grad"));
    start += length;
  }
}

const OpRule kRules[] = {
    {Op::concat, "concat", 1, kAnyNumber, sizeof(ConcatAttrs), infer_concat, gradient_concat},
    {Op::slice, "slice", 1, 1, sizeof(SliceAttrs), infer_slice},
};

}  // namespace

std::span<const OpRule> concat_rules() { return kRules; }

}  // namespace convoy::ir
