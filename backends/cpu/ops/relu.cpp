// relu and relu_grad where they could not join a neighbour: own flat loops in whatever layout the operands have.
#include "lowering.hpp"

#include "kernels/flat.hpp"
#include "kernels/parallel.hpp"

namespace convoy::cpu {

namespace {

void forward(Lowering& l, const Group& group) {
  const Value x = l.graph().in(group.leader, 0), y = l.graph().out(group.leader, 0);
  const Tensor from = l.read(x, l.preferred(x));
  const int64_t n = padded_elements(from.desc);
  l.kernel("relu", {from, l.write_over(y, from.desc, x, from)}, [=](const Operands& p) {
    parallel(n, kGrain, [&](int64_t begin, int64_t end) { flat().relu(p.at(1) + begin, p.at(0) + begin, end - begin); });
  });
}

void grad(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const Value dy = g.in(group.leader, 0), y = g.in(group.leader, 1), dx = g.out(group.leader, 0);
  const Tensor passed = l.read(y, l.preferred(y));
  const Tensor from = l.read(dy, passed.desc);
  const int64_t n = padded_elements(from.desc);
  l.kernel("relu_grad", {from, passed, l.write_over(dx, from.desc, dy, from)}, [=](const Operands& p) {
    parallel(n, kGrain, [&](int64_t begin, int64_t end) {
      flat().relu_grad(p.at(2) + begin, p.at(0) + begin, p.at(1) + begin, end - begin);
    });
  });
}

const OpLowering kLowerings[] = {{Op::relu, forward}, {Op::relu_grad, grad}};

}  // namespace

std::span<const OpLowering> relu_lowerings() { return kLowerings; }

}  // namespace convoy::cpu
