// dropout and dropout_grad: the same kernel over counter-based random numbers; no mask is kept.
#include "lowering.hpp"

#include <span>

namespace convoy::cuda {

namespace {

void apply(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const auto attrs = g.attrs<DropoutAttrs>(group.leader);
  if (!(attrs.p >= 0 && attrs.p < 1)) throw Refused("drops with a probability outside [0, 1)");
  const Value x = g.in(group.leader, 0), y = g.out(group.leader, 0);
  const Form form = l.activation(x);
  const Extent e(g.tensor(x));
  l.kernel("dropout", {Lowering::in(l.read(x, form)), Lowering::in(l.read(g.in(group.leader, 1))), Lowering::out(l.write(y, form))},
           [=, type = form.type](const Operands& p, cudaStream_t s) {
             DropoutArgs a;
             a.x = {p.at<void>(0), 0}, a.rng = p.at<int64_t>(1), a.y = {p.at<void>(2), 0}, a.type = type;
             a.n = e.n, a.area = e.area, a.c = e.c, a.stream = attrs.stream, a.p = attrs.p;
             return dropout(a, s);
           });
}

const OpLowering kLowerings[] = {{Op::dropout, apply}, {Op::dropout_grad, apply}};

}  // namespace

std::span<const OpLowering> dropout_lowerings() { return kLowerings; }

}  // namespace convoy::cuda
