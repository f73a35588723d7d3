// global_avg_pool and its gradient.
#include "lowering.hpp"

#include <span>

namespace convoy::cuda {

namespace {

void run(Lowering& l, const Group& group, bool gradient) {
  const GraphIndex& g = l.graph();
  const Value from = g.in(group.leader, 0), to = g.out(group.leader, 0), image = gradient ? to : from;
  need_rank(g, image, 4);
  const Extent e(g.tensor(image));
  const Form form = l.activation(from);
  l.kernel(gradient ? "global_avg_pool_grad" : "global_avg_pool", {Lowering::in(l.read(from, form)), Lowering::out(l.write(to, l.activation(to)))},
           [e, gradient, type = form.type](const Operands& p, cudaStream_t s) {
             GlobalAvgPoolArgs a;
             a.x = {p.at<void>(0), 0}, a.y = {p.at<void>(1), 0}, a.type = type, a.n = e.n, a.area = e.area, a.c = e.c;
             return gradient ? global_avg_pool_grad(a, s) : global_avg_pool(a, s);
           });
}

void forward(Lowering& l, const Group& group) { run(l, group, false); }
void grad(Lowering& l, const Group& group) { run(l, group, true); }

const OpLowering kLowerings[] = {{Op::global_avg_pool, forward}, {Op::global_avg_pool_grad, grad}};

}  // namespace

std::span<const OpLowering> global_avg_pool_lowerings() { return kLowerings; }

}  // namespace convoy::cuda
