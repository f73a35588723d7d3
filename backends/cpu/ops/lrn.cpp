// lrn and its gradient: through oneDNN where it has code for the layout at hand, else by own loops, row-major.
#include "lowering.hpp"

#include "kernels/flat.hpp"
#include "kernels/parallel.hpp"

#include <omp.h>

#include <algorithm>

namespace convoy::cpu {

namespace {

constexpr int64_t kTile = 64;  // positions a thread takes at once, so that all channels of them stay in cache

struct Lrn {
  Lrn(const GraphIndex& g, uint32_t n, Value x) : attrs(g.attrs<LrnAttrs>(n)), dims(g.dims(x)) {
    if (attrs.size < 1 || attrs.size % 2 == 0) throw Refused("has a window of an even number of channels");
    window = {attrs.size, static_cast<float>(attrs.alpha), static_cast<float>(attrs.beta), static_cast<float>(attrs.k)};
  }

  int64_t channels() const { return dims[1]; }
  int64_t area() const { return dims[2] * dims[3]; }
  int64_t half() const { return attrs.size / 2; }
  float alpha() const { return static_cast<float>(attrs.alpha / attrs.size); }

  /// Calls f(offset of the tile, positions in it) for all tiles of all samples.
  template <class F>
  void each_tile(const F& f) const {
    const int64_t tiles = (area() + kTile - 1) / kTile;
    parallel_each(dims[0] * tiles, [&](int64_t i) {
      const int64_t at = i % tiles * kTile;
      f(i / tiles * channels() * area() + at, std::min(kTile, area() - at));
    });
  }

  LrnAttrs attrs;
  Dims dims;
  LrnWindow window;
};

uint32_t gradient_of(const GraphIndex& g, Value x, Value y) {
  for (uint32_t n : g.consumers(y))
    if (g.node(n).op == Op::lrn_grad && g.in(n, 1) == x && g.in(n, 2) == y) return n;
  return kNoNode;
}

void forward(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const Value x = g.in(group.leader, 0), y = g.out(group.leader, 0);
  const Lrn lrn(g, group.leader, x);
  const bool keep = gradient_of(g, x, y) != kNoNode;
  const Primitive best = lrn_forward(keep, l.preferred(x), lrn.window);
  if (best.quality() > 0 && (!keep || lrn_backward(l.preferred(x), lrn.window).quality() > 0)) {
    std::vector<PrimitiveStep::Argument> arguments{{DNNL_ARG_SRC, l.read(x, best.src())},
                                                   {DNNL_ARG_DST, l.write(y, best.dst())}};
    if (keep) {
      l.workspaces[y] = {best.src(), l.make(best.workspace())};
      arguments.push_back({DNNL_ARG_WORKSPACE, l.workspaces.at(y).tensor});
    }
    return l.primitive(best, std::move(arguments));
  }
  l.kernel("lrn", {l.read(x), l.write(y)}, [lrn](const Operands& p) {
    lrn.each_tile([&](int64_t at, int64_t n) {
      flat().lrn(p.at(1) + at, p.at(0) + at, lrn.channels(), lrn.area(), n, lrn.half(), lrn.alpha(), lrn.window.beta,
                 lrn.window.k);
    });
  });
}

void grad(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const Value dy = g.in(group.leader, 0), x = g.in(group.leader, 1), y = g.in(group.leader, 2);
  const Value dx = g.out(group.leader, 0);
  const Lrn lrn(g, group.leader, x);
  if (const auto kept = l.workspaces.find(y); kept != l.workspaces.end() && gradient_of(g, x, y) == group.leader) {
    const Primitive best = lrn_backward(kept->second.layout, lrn.window);
    return l.primitive(best, {{DNNL_ARG_SRC, l.read(x, best.src())},
                              {DNNL_ARG_DIFF_DST, l.read(dy, best.diff_dst())},
                              {DNNL_ARG_WORKSPACE, kept->second.tensor},
                              {DNNL_ARG_DIFF_SRC, l.write(dx, best.diff_src())}});
  }
  const int64_t each = 2 * lrn.channels() * kTile;
  const Tensor work = l.make_bytes(static_cast<uint64_t>(omp_get_max_threads() * each) * sizeof(float));
  l.kernel("lrn_grad", {l.read(dy), l.read(x), l.write(dx), work}, [lrn, each](const Operands& p) {
    lrn.each_tile([&](int64_t at, int64_t n) {
      flat().lrn_grad(p.at(2) + at, p.at(0) + at, p.at(1) + at, lrn.channels(), lrn.area(), n, lrn.half(), lrn.alpha(),
                      lrn.window.beta, lrn.window.k, p.at(3) + omp_get_thread_num() * each);
    });
  });
}

const OpLowering kLowerings[] = {{Op::lrn, forward}, {Op::lrn_grad, grad}};

}  // namespace

std::span<const OpLowering> lrn_lowerings() { return kLowerings; }

}  // namespace convoy::cpu
