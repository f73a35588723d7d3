// bias_add and bias_grad where they could not join a convolution or linear layer.
#include "lowering.hpp"

#include <span>

namespace convoy::cuda {

namespace {

void forward(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const Value x = g.in(group.leader, 0), y = g.out(group.leader, 0);
  if (g.tensor(x).rank != 2 && g.tensor(x).rank != 4) throw Refused("takes a value of rank 2 or 4");
  const Extent e(g.tensor(x));
  const Form form = l.activation(x);
  l.kernel("bias_add", {Lowering::in(l.read(x, form)), Lowering::in(l.read(g.in(group.leader, 1))), Lowering::out(l.write(y, form))},
           [e, type = form.type](const Operands& p, cudaStream_t s) {
             BiasAddArgs a;
             a.x = {p.at<void>(0), 0}, a.bias = p.at(1), a.y = {p.at<void>(2), 0}, a.type = type, a.rows = e.rows(), a.c = e.c;
             return bias_add(a, s);
           });
}

/// With a relu_grad in front: its result is written on the way.
void grad(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader, relu = group.member(g, Op::relu_grad);
  const Value dy = g.in(relu == kNoNode ? n : relu, 0);
  if (g.tensor(dy).rank != 2 && g.tensor(dy).rank != 4) throw Refused("takes a value of rank 2 or 4");
  const Extent e(g.tensor(dy));
  const Form form = l.activation(dy);
  std::vector<Lowering::Use> uses{Lowering::in(l.read(dy, form)), Lowering::out(l.write(g.out(n, 0), l.full(g.out(n, 0)))),
                                  Lowering::out(l.make(bias_grad_scratch_bytes(e.rows(), e.c)))};
  if (relu != kNoNode) {
    uses.push_back(Lowering::in(l.read(g.in(relu, 1), form)));
    uses.push_back(Lowering::out(l.write(g.out(relu, 0), form)));
  }
  l.kernel("bias_grad", uses, [e, type = form.type, with_relu = relu != kNoNode](const Operands& p, cudaStream_t s) {
    BiasGradArgs a;
    a.dy = {p.at<void>(0), 0}, a.dbias = p.at(1), a.scratch = p.at<void>(2), a.type = type, a.rows = e.rows(), a.c = e.c;
    if (with_relu) a.y = {p.at<void>(3), 0}, a.dx = {p.at<void>(4), 0};
    return bias_grad(a, s);
  });
}

const OpLowering kLowerings[] = {{Op::bias_add, forward}, {Op::bias_grad, grad}};

}  // namespace

std::span<const OpLowering> bias_lowerings() { return kLowerings; }

}  // namespace convoy::cuda
