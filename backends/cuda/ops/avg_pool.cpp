// avg_pool and its gradient.
#include "pool_shape.hpp"

namespace convoy::cuda {

namespace {

void run(Lowering& l, const Group& group, bool gradient) {
  const GraphIndex& g = l.graph();
  const Value from = g.in(group.leader, 0), to = g.out(group.leader, 0);
  const PoolShape shape = gradient ? pool_shape(g, group.leader, to, from) : pool_shape(g, group.leader, from, to);
  const Form form = l.activation(from);
  l.kernel(gradient ? "avg_pool_grad" : "avg_pool", {Lowering::in(l.read(from, form)), Lowering::out(l.write(to, l.activation(to)))},
           [shape, gradient, type = form.type](const Operands& p, cudaStream_t s) {
             AvgPoolArgs a;
             a.shape = shape, a.type = type, a.x = {p.at<void>(0), 0}, a.y = {p.at<void>(1), 0};
             return gradient ? avg_pool_grad(a, s) : avg_pool(a, s);
           });
}

void forward(Lowering& l, const Group& group) { run(l, group, false); }
void grad(Lowering& l, const Group& group) { run(l, group, true); }

const OpLowering kLowerings[] = {{Op::avg_pool, forward}, {Op::avg_pool_grad, grad}};

}  // namespace

std::span<const OpLowering> avg_pool_lowerings() { return kLowerings; }

}  // namespace convoy::cuda
