// max_pool and its gradient through oneDNN, which keeps the first maximum of a window, as the catalogue wants, in a
// workspace. Where a gradient's forward node is not in the graph, the workspace is made again.
#include "pool_shape.hpp"

namespace convoy::cpu {

namespace {

bool has_gradient(const GraphIndex& g, Value x, Value y) {
  for (uint32_t n : g.consumers(y))
    if (g.node(n).op == Op::max_pool_grad && g.in(n, 1) == x && g.in(n, 2) == y) return true;
  return false;
}

void forward(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const Value x = g.in(group.leader, 0), y = g.out(group.leader, 0);
  const PoolShape s(g, group.leader, x, y);
  const bool keep = has_gradient(g, x, y);
  const Primitive best = choose_pool(s, layout_of(l.preferred(x)), [&](const Desc& from, const Desc& to) {
    return pool_forward(Pooling::max, keep, from, to, s.window);
  });
  std::vector<PrimitiveStep::Argument> arguments{{DNNL_ARG_SRC, l.read(x, best.src())},
                                                 {DNNL_ARG_DST, l.write(y, best.dst())}};
  if (keep) {
    const Tensor where = l.make(best.workspace());
    arguments.push_back({DNNL_ARG_WORKSPACE, where});
    l.workspaces[y] = {best.src(), where};
  }
  l.primitive(best, std::move(arguments));
}

/// The forward pass again, for its workspace alone.
Lowering::Kept repeat(Lowering& l, const PoolShape& s, Value x, Layout layout) {
  const Primitive again = choose_pool(s, layout, [&](const Desc& from, const Desc& to) {
    return pool_forward(Pooling::max, true, from, to, s.window);
  });
  const Lowering::Kept kept{again.src(), l.make(again.workspace())};
  l.primitive(again, {{DNNL_ARG_SRC, l.read(x, again.src())},
                      {DNNL_ARG_DST, l.make(again.dst())},
                      {DNNL_ARG_WORKSPACE, kept.tensor}});
  return kept;
}

void grad(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const Value dy = g.in(n, 0), x = g.in(n, 1), y = g.in(n, 2), dx = g.out(n, 0);
  const PoolShape s(g, n, x, y);
  const auto known = l.workspaces.find(y);
  const Lowering::Kept kept = known != l.workspaces.end() && has_gradient(g, x, y)
                                  ? known->second
                                  : repeat(l, s, x, layout_of(l.preferred(x)));
  const Primitive best = pool_backward(Pooling::max, kept.layout, image(s.y, layout_of(kept.layout)), s.window);
  l.primitive(best, {{DNNL_ARG_DIFF_DST, l.read(dy, best.diff_dst())},
                     {DNNL_ARG_WORKSPACE, kept.tensor},
                     {DNNL_ARG_DIFF_SRC, l.write(dx, best.diff_src())}});
}

const OpLowering kLowerings[] = {{Op::max_pool, forward}, {Op::max_pool_grad, grad}};

}  // namespace

std::span<const OpLowering> max_pool_lowerings() { return kLowerings; }

}  // namespace convoy::cpu
