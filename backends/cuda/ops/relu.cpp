// relu and relu_grad where nothing else could take them along.
#include "lowering.hpp"

#include <span>

namespace convoy::cuda {

namespace {

void forward(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const Value x = g.in(group.leader, 0), y = g.out(group.leader, 0);
  const Form form = l.activation(x);
  const Extent e(g.tensor(x));
  l.kernel("relu", {Lowering::in(l.read(x, form)), Lowering::out(l.write(y, form))},
           [e, type = form.type](const Operands& p, cudaStream_t s) {
             ReluArgs a;
             a.x = {p.at<void>(0), 0}, a.y = {p.at<void>(1), 0}, a.type = type, a.rows = e.rows(), a.c = e.c;
             return relu(a, s);
           });
}

void grad(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader, sum = group.member(g, Op::add_n);
  const Value dy = g.in(sum == kNoNode ? n : sum, 0), y = g.in(n, 1), dx = g.out(n, 0);
  const Form form = l.activation(dx);
  const Extent e(g.tensor(dx));
  std::vector<Lowering::Use> uses{Lowering::in(l.read(dy, form)), Lowering::in(l.read(y, form)), Lowering::out(l.write(dx, form))};
  if (sum != kNoNode) uses.push_back(Lowering::in(l.read(g.in(sum, 1), form)));
  l.kernel("relu_grad", uses, [e, type = form.type, summed = sum != kNoNode](const Operands& p, cudaStream_t s) {
    ReluGradArgs a;
    a.dy = {p.at<void>(0), 0}, a.y = {p.at<void>(1), 0}, a.dx = {p.at<void>(2), 0};
    a.dy2 = {summed ? p.at<void>(3) : nullptr, 0};
    a.type = type, a.rows = e.rows(), a.c = e.c;
    return relu_grad(a, s);
  });
}

const OpLowering kLowerings[] = {{Op::relu, forward}, {Op::relu_grad, grad}};

}  // namespace

std::span<const OpLowering> relu_lowerings() { return kLowerings; }

}  // namespace convoy::cuda
