// max_pool, which leaves where each maximum was, and max_pool_grad, which otherwise searches again.
#include "pool_shape.hpp"

namespace convoy::cuda {

namespace {

bool has_gradient(const GraphIndex& g, Value x, Value y) {
  for (uint32_t n : g.consumers(y))
    if (g.node(n).op == Op::max_pool_grad && g.in(n, 1) == x && g.in(n, 2) == y) return true;
  return false;
}

void forward(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const Value x = g.in(group.leader, 0), y = g.out(group.leader, 0);
  const PoolShape shape = pool_shape(g, group.leader, x, y);
  const Form form = l.activation(x);
  std::vector<Lowering::Use> uses{Lowering::in(l.read(x, form)), Lowering::out(l.write(y, l.activation(y)))};
  const uint64_t argmax_bytes = has_gradient(g, x, y) ? max_pool_argmax_bytes(shape) : 0;
  if (argmax_bytes > 0) {
    l.kept[y] = l.make(argmax_bytes);
    uses.push_back(Lowering::out(l.kept[y]));
  }
  l.kernel("max_pool", uses, [shape, type = form.type, kept = argmax_bytes > 0](const Operands& p, cudaStream_t s) {
    MaxPoolArgs a;
    a.shape = shape, a.type = type, a.x = {p.at<void>(0), 0}, a.y = {p.at<void>(1), 0};
    a.argmax = kept ? p.at<uint8_t>(2) : nullptr;
    return max_pool(a, s);
  });
}

void grad(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const Value dy = g.in(n, 0), x = g.in(n, 1), y = g.in(n, 2), dx = g.out(n, 0);
  const PoolShape shape = pool_shape(g, n, x, y);
  const Form form = l.activation(x);
  const auto known = l.kept.find(y);
  const bool kept = known != l.kept.end();
  l.kernel("max_pool_grad",
           {Lowering::in(l.read(dy, l.activation(dy))), Lowering::in(kept ? known->second : l.read(x, form)),
            Lowering::out(l.write(dx, form))},
           [shape, type = form.type, kept](const Operands& p, cudaStream_t s) {
             MaxPoolGradArgs a;
             a.shape = shape, a.type = type, a.dy = {p.at<void>(0), 0}, a.dx = {p.at<void>(2), 0};
             if (kept) a.argmax = p.at<uint8_t>(1);
             else a.x = {p.at<void>(1), 0};
             return max_pool_grad(a, s);
           });
}

const OpLowering kLowerings[] = {{Op::max_pool, forward}, {Op::max_pool_grad, grad}};

}  // namespace

std::span<const OpLowering> max_pool_lowerings() { return kLowerings; }

}  // namespace convoy::cuda
