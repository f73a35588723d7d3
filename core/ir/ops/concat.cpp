// concat along an axis, and slice, which is its gradient; slice's own is a concat with zeros around.
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace convoy::ir {

namespace {

std::size_t checked_axis(const Inference& n, int32_t axis) {
  const std::size_t rank = n.in(0).dims.size();
  if (rank == 0) n.refuse("a scalar has no axis");
  if (axis < 0 || static_cast<std::size_t>(axis) >= rank)
    n.refuse(fmt::format("axis is {}; 0 to {} is allowed", axis, rank - 1));
  return static_cast<std::size_t>(axis);
}

void infer_concat(Inference& n) {
  n.need_float(0);
  const std::size_t axis = checked_axis(n, n.attrs<ConcatAttrs>().axis);
  auto dims = n.in(0).dims;
  for (std::size_t i = 1; i < n.inputs(); ++i) {
    n.need_same_type(0, i);
    n.need_rank(i, dims.size());
    auto other = n.in(i).dims;
    const int64_t length = other[axis];
    other[axis] = dims[axis];
    if (other != dims)
      n.refuse(fmt::format("inputs 0 and {} have shapes {} and {}; they may differ along axis {} only", i,
                           shape_text(n.in(0).dims), shape_text(n.in(i).dims), axis));
    dims[axis] += length;
  }
  n.give(n.in(0).dtype, dims);
}

void infer_slice(Inference& n) {
  const auto a = n.attrs<SliceAttrs>();
  const std::size_t axis = checked_axis(n, a.axis);
  auto dims = n.in(0).dims;
  if (a.start < 0 || a.length < 1 || a.length > dims[axis] || a.start > dims[axis] - a.length)
    n.refuse(fmt::format("{} elements from {} on are not within the {} along axis {}", a.length, a.start, dims[axis], axis));
  dims[axis] = a.length;
  n.give(n.in(0).dtype, dims);
}

void gradient_concat(Backward& b) {
  const int32_t axis = b.attrs<ConcatAttrs>().axis;
  int64_t start = 0;
  for (std::size_t i = 0; i < b.node().in.size(); ++i) {
    const int64_t length = b.tensor(b.in(i)).dims[static_cast<std::size_t>(axis)];
    const SliceAttrs a{sizeof(SliceAttrs), axis, start, length};
    if (b.needed(i)) b.set(i, b.emit_one(Op::slice, {b.dy()}, pack(a), "grad"));
    start += length;
  }
}

/// Zeros shaped like `x`, but `length` long along `axis`; nothing where that is no length at all.
void add_zeros(Backward& b, std::vector<Value>& parts, Value x, std::size_t axis, int64_t length) {
  if (length == 0) return;
  auto dims = b.tensor(x).dims;
  dims[axis] = length;
  FillAttrs a{};
  a.struct_size = sizeof a;
  a.dtype = b.tensor(x).dtype;
  a.rank = static_cast<uint32_t>(dims.size());
  std::copy(dims.begin(), dims.end(), a.dim);
  parts.push_back(b.emit_one(Op::fill, {}, pack(a), "zeros"));
}

void gradient_slice(Backward& b) {
  const auto a = b.attrs<SliceAttrs>();
  const auto axis = static_cast<std::size_t>(a.axis);
  std::vector<Value> parts;
  add_zeros(b, parts, b.in(0), axis, a.start);
  parts.push_back(b.dy());
  add_zeros(b, parts, b.in(0), axis, b.tensor(b.in(0)).dims[axis] - a.start - a.length);
  const ConcatAttrs c{sizeof(ConcatAttrs), a.axis};
  b.set(0, b.emit_one(Op::concat, parts, pack(c), "grad"));
}

bool is_single(const Graph&, const Node& n) { return n.in.size() == 1; }

bool takes_all(const Graph& g, const Node& n) {
  const auto a = unpack<SliceAttrs>(n);
  return a.length == g[n.in[0]].dims[static_cast<std::size_t>(a.axis)];
}

double same(const std::vector<double>& in) { return in[0]; }

const OpRule kRules[] = {
    {.op = Op::concat, .name = "concat", .min_inputs = 1, .max_inputs = kAnyNumber, .attrs_size = sizeof(ConcatAttrs),
     .infer = infer_concat, .gradient = gradient_concat, .identity = is_single},
    {.op = Op::slice, .name = "slice", .min_inputs = 1, .max_inputs = 1, .attrs_size = sizeof(SliceAttrs),
     .infer = infer_slice, .gradient = gradient_slice, .identity = takes_all, .constant = same},
};

}  // namespace

std::span<const OpRule> concat_rules() { return kRules; }

}  // namespace convoy::ir
