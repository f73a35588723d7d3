// lrn and its gradient.
#include "lowering.hpp"

#include <span>

namespace convoy::cuda {

namespace {

constexpr int kWidest = 63;  // channels of a window that the kernels take

void run(Lowering& l, const Group& group, bool gradient) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const auto attrs = g.attrs<LrnAttrs>(n);
  const Value x = g.in(n, gradient ? 1 : 0), y = g.out(n, 0);
  need_rank(g, x, 4);
  if (attrs.size > kWidest) throw Refused("has a window of " + std::to_string(attrs.size) + " channels; at most " + std::to_string(kWidest) + " are taken");
  const Form form = l.activation(x);
  const Extent e(g.tensor(x));
  std::vector<Lowering::Use> uses{Lowering::in(l.read(x, form)), Lowering::out(l.write(y, form))};
  if (gradient) uses.push_back(Lowering::in(l.read(g.in(n, 0), form)));
  l.kernel(gradient ? "lrn_grad" : "lrn", uses, [=, type = form.type](const Operands& p, cudaStream_t s) {
    LrnArgs a;
    a.x = {p.at<void>(0), 0}, a.y = {p.at<void>(1), 0}, a.type = type, a.rows = e.rows(), a.c = e.c;
    a.size = attrs.size, a.alpha = attrs.alpha, a.beta = attrs.beta, a.k = attrs.k;
    if (gradient) a.dy = {p.at<void>(2), 0};
    return gradient ? lrn_grad(a, s) : lrn(a, s);
  });
}

void forward(Lowering& l, const Group& group) { run(l, group, false); }
void grad(Lowering& l, const Group& group) { run(l, group, true); }

const OpLowering kLowerings[] = {{Op::lrn, forward}, {Op::lrn_grad, grad}};

}  // namespace

std::span<const OpLowering> lrn_lowerings() { return kLowerings; }

}  // namespace convoy::cuda
