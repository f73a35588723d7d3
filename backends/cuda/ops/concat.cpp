// concat and slice: copies between a tensor and a range of it.
#include "lowering.hpp"

#include <algorithm>
#include <span>

namespace convoy::cuda {

namespace {

/// A tensor along an axis as a matrix: `blocks` rows of `each` elements for a step of the axis. Channels of images lie
/// innermost; along any other axis tensors are taken row-major.
struct Axis {
  Axis(const TensorDesc& t, int32_t axis) : channels(t.rank == 4 && axis == 1) {
    for (uint32_t i = 0; i < t.rank; ++i) {
      const bool before = channels ? i != 1 : static_cast<int32_t>(i) < axis;
      if (before) blocks *= t.dim[i];
      else if (static_cast<int32_t>(i) != axis) each *= t.dim[i];
    }
  }
  Form form(const Lowering& l, Value v) const {
    Form f = l.activation(v);
    return channels ? f : plain(f.type);
  }
  bool channels;
  int64_t blocks = 1, each = 1;
};

void join(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const int32_t axis = g.attrs<ConcatAttrs>(n).axis;
  const Value y = g.out(n, 0);
  const Axis along(g.tensor(y), axis);
  const Form form = along.form(l, y);
  const Place to = l.write(y, form);
  const int64_t width = g.tensor(y).dim[axis] * along.each;
  int64_t at = 0;
  for (uint32_t first = 0; first < g.node(n).n_in; first += kMaxSources) {
    ConcatArgs args;
    args.n = static_cast<int>(std::min<uint32_t>(g.node(n).n_in - first, kMaxSources));
    args.type = form.type, args.rows = along.blocks;
    std::vector<Lowering::Use> uses{Lowering::out(to)};
    const int64_t start = at;
    for (int i = 0; i < args.n; ++i) {
      const Value x = g.in(n, first + static_cast<uint32_t>(i));
      uses.push_back(Lowering::in(l.read(x, along.form(l, x))));
      args.c[i] = g.tensor(x).dim[axis] * along.each;
      at += args.c[i];
    }
    l.kernel("concat", uses, [args, start, width](const Operands& p, cudaStream_t s) {
      ConcatArgs a = args;
      for (int i = 0; i < a.n; ++i) a.x[i] = {p.at<void>(1 + static_cast<std::size_t>(i)), 0};
      a.y = {p.at<char>(0) + start * size_of(a.type), width};
      return concat(a, s);
    });
  }
}

void slice(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const auto attrs = g.attrs<SliceAttrs>(group.leader);
  const Value x = g.in(group.leader, 0), y = g.out(group.leader, 0);
  const Axis along(g.tensor(x), attrs.axis);
  const Form form = along.form(l, x);
  CopyArgs args;
  args.type = form.type, args.rows = along.blocks, args.c = attrs.length * along.each;
  const int64_t start = attrs.start * along.each, width = g.tensor(x).dim[attrs.axis] * along.each;
  l.kernel("slice", {Lowering::in(l.read(x, form)), Lowering::out(l.write(y, along.form(l, y)))}, [=](const Operands& p, cudaStream_t s) {
    CopyArgs a = args;
    a.x = {p.at<char>(0) + start * size_of(a.type), width};
    a.y = {p.at<void>(1), 0};
    return copy_channels(a, s);
  });
}

const OpLowering kLowerings[] = {{Op::concat, join}, {Op::slice, slice}};

}  // namespace

std::span<const OpLowering> concat_lowerings() { return kLowerings; }

}  // namespace convoy::cuda
