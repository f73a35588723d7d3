// global_avg_pool and its gradient by own loops: they go from any layout to row-major (N, C) and back in one pass.
#include "lowering.hpp"

#include "kernels/flat.hpp"
#include "kernels/parallel.hpp"

#include <algorithm>

namespace convoy::cpu {

namespace {

constexpr int64_t kMostLanes = 64;  // channels summed at once; partial sums stand on the stack

void mean_of_plane(const ImageWalk& w, float* y, const float* x) {
  *y = static_cast<float>(flat().total(x, w.height * w.width) / static_cast<double>(w.height * w.width));
}

/// Means of up to kMostLanes neighbouring channels from `lane` on.
void mean_of_lanes(const ImageWalk& w, float* y, const float* x, int64_t lanes) {
  double sums[kMostLanes] = {};
  for (int64_t i = 0; i < w.height * w.width; ++i) flat().accumulate(sums, x + i * w.column, lanes);
  for (int64_t c = 0; c < lanes; ++c) y[c] = static_cast<float>(sums[c] / static_cast<double>(w.height * w.width));
}

void forward(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const Value x = g.in(group.leader, 0), y = g.out(group.leader, 0);
  const Tensor from = l.read(x, l.preferred(x));
  const ImageWalk w = walk(from.desc);
  l.kernel("mean", {from, l.write(y)}, [w](const Operands& p) {
    parallel_each(w.samples * w.blocks, [&](int64_t i) {
      const int64_t n = i / w.blocks, first = i % w.blocks * w.lanes, count = std::min(w.lanes, w.channels - first);
      const float* x0 = p.at(0) + n * w.sample + i % w.blocks * w.block;
      float* y0 = p.at(1) + n * w.channels + first;
      if (w.lanes == 1) return mean_of_plane(w, y0, x0);
      for (int64_t c = 0; c < count; c += kMostLanes) mean_of_lanes(w, y0 + c, x0 + c, std::min(kMostLanes, count - c));
    });
  });
}

void grad(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const Value dy = g.in(group.leader, 0), dx = g.out(group.leader, 0);
  need_f32(g, dx);
  Desc desc = l.hint(dx);
  if (layout_of(desc) == Layout::other) desc = canonical(g.tensor(dx));
  const ImageWalk w = walk(desc);
  const float share = 1.0f / static_cast<float>(w.height * w.width);
  l.kernel("spread", {l.read(dy), l.write(dx, desc)}, [w, share](const Operands& p) {
    parallel_each(w.samples * w.blocks, [&](int64_t i) {
      const int64_t n = i / w.blocks, first = i % w.blocks * w.lanes, count = std::min(w.lanes, w.channels - first);
      const float* dy0 = p.at(0) + n * w.channels + first;
      float* dx0 = p.at(1) + n * w.sample + i % w.blocks * w.block;
      if (w.lanes == 1) {
        std::fill_n(dx0, w.height * w.width, *dy0 * share);
        return;
      }
      for (int64_t c = 0; c < w.lanes; ++c) dx0[c] = c < count ? dy0[c] * share : 0.0f;
      for (int64_t at = 1; at < w.height * w.width; ++at) std::copy_n(dx0, w.lanes, dx0 + at * w.column);
    });
  });
}

const OpLowering kLowerings[] = {{Op::global_avg_pool, forward}, {Op::global_avg_pool_grad, grad}};

}  // namespace

std::span<const OpLowering> global_avg_pool_lowerings() { return kLowerings; }

}  // namespace convoy::cpu
