// linear and its gradients through oneDNN's inner product. Weights as for convolutions.
#include "lowering.hpp"

namespace convoy::cpu {

namespace {

Desc shape(const GraphIndex& g, Value v) { return canonical(g.tensor(v)); }

void forward(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader, with_bias = group.member(g, Op::bias_add);
  const Value x = g.in(n, 0), w = g.in(n, 1), y = g.out(group.nodes.back(), 0);
  const Desc bias = with_bias == kNoNode ? Desc() : shape(g, g.in(with_bias, 1));
  const Primitive best = linear_forward(g.training(), shape(g, x), any_layout(shape(g, w)), bias, shape(g, y),
                                        group.member(g, Op::relu) != kNoNode);
  std::vector<PrimitiveStep::Argument> arguments{{DNNL_ARG_SRC, l.read(x, best.src())},
                                                 {DNNL_ARG_WEIGHTS, l.read(w, best.weights())},
                                                 {DNNL_ARG_DST, l.write(y, best.dst())}};
  if (with_bias != kNoNode) arguments.push_back({DNNL_ARG_BIAS, l.read(g.in(with_bias, 1))});
  l.primitive(best, std::move(arguments));
}

void grad_of_data(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const Value dy = g.in(group.leader, 0), w = g.in(group.leader, 1), dx = g.out(group.leader, 0);
  const Primitive best = linear_backward_data(shape(g, dx), any_layout(shape(g, w)), shape(g, dy));
  l.primitive(best, {{DNNL_ARG_DIFF_DST, l.read(dy, best.diff_dst())},
                     {DNNL_ARG_WEIGHTS, l.read(w, best.weights())},
                     {DNNL_ARG_DIFF_SRC, l.write(dx, best.diff_src())}});
}

void grad_of_weights(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader, with_bias = group.member(g, Op::bias_grad);
  const Value dy = g.in(n, 0), x = g.in(n, 1), dw = g.out(n, 0);
  const Desc bias = with_bias == kNoNode ? Desc() : shape(g, g.out(with_bias, 0));
  const Primitive best = linear_backward_weights(shape(g, x), any_layout(shape(g, dw)), bias, shape(g, dy));
  std::vector<PrimitiveStep::Argument> arguments{{DNNL_ARG_SRC, l.read(x, best.src())},
                                                 {DNNL_ARG_DIFF_DST, l.read(dy, best.diff_dst())},
                                                 {DNNL_ARG_DIFF_WEIGHTS, l.write(dw, best.diff_weights())}};
  if (with_bias != kNoNode) arguments.push_back({DNNL_ARG_DIFF_BIAS, l.write(g.out(with_bias, 0))});
  l.primitive(best, std::move(arguments));
}

const OpLowering kLowerings[] = {
    {Op::linear, forward}, {Op::linear_dgrad, grad_of_data}, {Op::linear_wgrad, grad_of_weights}};

}  // namespace

std::span<const OpLowering> linear_lowerings() { return kLowerings; }

}  // namespace convoy::cpu
