// concat and slice: oneDNN reorders between a tensor and a part of another.
#include "lowering.hpp"

#include <optional>

namespace convoy::cpu {

namespace {

/// The part of `whole` of these dimensions that begins at `start` along `axis`; nothing where blocks stand in the way.
std::optional<Desc> part_of(const Desc& whole, const Dims& dims, int32_t axis, int64_t start) {
  Dims offsets(dims.size(), 0);
  offsets[static_cast<std::size_t>(axis)] = start;
  const Desc part = whole.submemory_desc(dims, offsets, true);
  if (part.dims().empty()) return std::nullopt;
  return part;
}

/// The same layout for other dimensions.
Desc like(const Desc& layout, const Dims& dims) {
  return dims.size() == 4 && layout_of(layout) != Layout::other ? image(dims, layout_of(layout)) : canonical(dims);
}

/// Where each input of a concat goes within `whole`; nothing where one cannot.
std::optional<std::vector<Desc>> parts_of(const GraphIndex& g, uint32_t n, const Desc& whole, int32_t axis) {
  std::vector<Desc> out;
  int64_t start = 0;
  for (uint32_t i = 0; i < g.node(n).n_in; ++i) {
    const auto dims = g.dims(g.in(n, i));
    const auto part = part_of(whole, dims, axis, start);
    if (!part) return std::nullopt;
    out.push_back(*part);
    start += dims[static_cast<std::size_t>(axis)];
  }
  return out;
}

void concat(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const int32_t axis = g.attrs<ConcatAttrs>(n).axis;
  const Value y = g.out(n, 0);
  need_f32(g, y);
  Desc whole = canonical(g.tensor(y));
  for (uint32_t i = 0; i < g.node(n).n_in && layout_of(whole) == Layout::plain; ++i)
    whole = like(l.preferred(g.in(n, i)), g.dims(y));
  auto parts = parts_of(g, n, whole, axis);
  if (!parts) {  // a block would hold channels of two inputs
    whole = image(g.dims(y), Layout::channels_last);
    parts = parts_of(g, n, whole, axis);
  }
  const Tensor to = l.write(y, whole);
  for (uint32_t i = 0; i < g.node(n).n_in; ++i) {
    const Value x = g.in(n, i);
    l.primitive(reorder(l.preferred(x), (*parts)[i]),
                {{DNNL_ARG_FROM, l.read(x, l.preferred(x))}, {DNNL_ARG_TO, {to.buffer, (*parts)[i]}}});
  }
}

void slice(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const auto attrs = g.attrs<SliceAttrs>(group.leader);
  const Value x = g.in(group.leader, 0), y = g.out(group.leader, 0);
  need_f32(g, x);
  Desc whole = l.preferred(x);
  auto part = part_of(whole, g.dims(y), attrs.axis, attrs.start);
  if (!part) {
    whole = image(g.dims(x), Layout::channels_last);
    part = part_of(whole, g.dims(y), attrs.axis, attrs.start);
  }
  const Tensor from = l.read(x, whole), to = l.write(y, like(whole, g.dims(y)));
  l.primitive(reorder(*part, to.desc), {{DNNL_ARG_FROM, {from.buffer, *part}}, {DNNL_ARG_TO, to}});
}

const OpLowering kLowerings[] = {{Op::concat, concat}, {Op::slice, slice}};

}  // namespace

std::span<const OpLowering> concat_lowerings() { return kLowerings; }

}  // namespace convoy::cpu
