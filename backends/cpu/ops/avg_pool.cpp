// avg_pool and its gradient through oneDNN. Where a window hangs over the padded input in ceil mode, oneDNN divides
// by the whole window and the catalogue by the part inside: those windows are scaled by an own loop.
#include "pool_shape.hpp"

#include "kernels/flat.hpp"
#include "kernels/parallel.hpp"

namespace convoy::cpu {

namespace {

Pooling kind_of(const PoolShape& s) {
  return s.attrs.count_include_pad != 0 ? Pooling::average_with_padding : Pooling::average_without_padding;
}

bool needs_scaling(const PoolShape& s) { return s.hangs_over && s.attrs.count_include_pad != 0; }

/// Window size over what of it lies within the padded input, by output position along one axis.
std::vector<float> factors(const PoolShape& s, int axis) {
  const auto i = static_cast<std::size_t>(axis);
  std::vector<float> out;
  for (int64_t p = 0; p < s.y[2 + i]; ++p) {
    const int64_t start = p * s.attrs.stride[axis] - s.attrs.pad_lo[axis];
    const int64_t inside = std::min<int64_t>(start + s.attrs.window[axis], s.x[2 + i] + s.attrs.pad_hi[axis]) - start;
    out.push_back(static_cast<float>(s.attrs.window[axis]) / static_cast<float>(inside));
  }
  return out;
}

/// to = from, each window times its factors.
void scale(Lowering& l, const PoolShape& s, const Tensor& from, const Tensor& to) {
  const ImageWalk w = walk(from.desc);
  l.kernel("edges", {from, to}, [w, rows = factors(s, 0), columns = factors(s, 1)](const Operands& p) {
    parallel_each(w.samples * w.blocks, [&](int64_t plane) {
      const int64_t base = plane / w.blocks * w.sample + plane % w.blocks * w.block;
      for (int64_t h = 0; h < w.height; ++h)
        for (int64_t c = 0; c < w.width; ++c) {
          const int64_t at = base + h * w.row + c * w.column;
          const float f = rows[static_cast<std::size_t>(h)] * columns[static_cast<std::size_t>(c)];
          flat().multiply(p.at(1) + at, p.at(0) + at, f, w.lanes);
        }
    });
  });
}

void forward(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const Value x = g.in(group.leader, 0), y = g.out(group.leader, 0);
  const PoolShape s(g, group.leader, x, y);
  const Primitive best = choose_pool(s, layout_of(l.preferred(x)), [&](const Desc& from, const Desc& to) {
    return pool_forward(kind_of(s), false, from, to, s.window);
  });
  const Tensor to = l.write(y, best.dst());
  l.primitive(best, {{DNNL_ARG_SRC, l.read(x, best.src())}, {DNNL_ARG_DST, to}});
  if (needs_scaling(s)) scale(l, s, to, to);
}

void grad(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const Value dy = g.in(group.leader, 0), dx = g.out(group.leader, 0);
  const PoolShape s(g, group.leader, dx, dy);
  const Primitive best = choose_pool(s, layout_of(l.preferred(dy)), [&](const Desc& to, const Desc& from) {
    return pool_backward(kind_of(s), to, from, s.window);
  });
  Tensor from = l.read(dy, best.diff_dst());
  if (needs_scaling(s)) {
    const Tensor scaled = l.make(best.diff_dst());
    scale(l, s, from, scaled);
    from = scaled;
  }
  l.primitive(best, {{DNNL_ARG_DIFF_DST, from}, {DNNL_ARG_DIFF_SRC, l.write(dx, best.diff_src())}});
}

const OpLowering kLowerings[] = {{Op::avg_pool, forward}, {Op::avg_pool_grad, grad}};

}  // namespace

std::span<const OpLowering> avg_pool_lowerings() { return kLowerings; }

}  // namespace convoy::cpu
