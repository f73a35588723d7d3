// linear and its gradients: matrix products of cuBLASLt. What the loss or the core reads is written in f32.
#include "lowering.hpp"
#include "product.hpp"

#include <algorithm>

namespace convoy::cuda {

namespace {

ConvProblem problem_of(const Lowering& l, Value x, Value y) {
  const GraphIndex& g = l.graph();
  need_rank(g, x, 2);
  ConvProblem p = empty_problem(l);
  p.linear = true;
  p.N = g.tensor(x).dim[0], p.C = g.tensor(x).dim[1], p.K = g.tensor(y).dim[1];
  return p;
}

Form matrix(const Lowering& l, Value v) { return l.activation(v); }

/// Logits stay f32: a loss of 16-bit logits would lose its last digits for nothing.
Form result_form(const Lowering& l, Value y) {
  const GraphIndex& g = l.graph();
  const auto& readers = g.consumers(y);
  const bool loss = std::any_of(readers.begin(), readers.end(), [&](uint32_t n) { return g.node(n).op == Op::softmax_xent; });
  return loss || g.is_boundary(y) ? l.full(y) : l.activation(y);
}

void forward(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader, bias_node = group.member(g, Op::bias_add);
  const Value x = g.in(n, 0), w = g.in(n, 1), y = g.out(group.nodes.back(), 0);
  ConvProblem p = problem_of(l, x, y);
  const Form form = result_form(l, y);
  p.out = form.type;
  p.bias = bias_node != kNoNode;
  p.relu = group.member(g, Op::relu) != kNoNode;
  Lowering::PlanPlaces at;
  at.x = l.read(x, matrix(l, x));
  at.w = l.read(w, matrix(l, w));
  if (p.bias) at.bias = l.read(g.in(bias_node, 1), plain(l.compute())), at.bias_f32 = l.read(g.in(bias_node, 1), plain(Type::f32));
  at.y = l.write(y, form);
  l.plan(p, at);
}

void input_gradient(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const Value dy = g.in(group.leader, 0), w = g.in(group.leader, 1), dx = g.out(group.leader, 0);
  ConvProblem p = problem_of(l, dx, dy);
  p.direction = Direction::input_gradient;
  Lowering::PlanPlaces at;
  at.y = l.read(dy, matrix(l, dy));
  at.w = l.read(w, matrix(l, w));
  at.x = l.write(dx, matrix(l, dx));
  l.plan(p, at);
}

void weight_gradient(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const Value dy = g.in(group.leader, 0), x = g.in(group.leader, 1), dw = g.out(group.leader, 0);
  ConvProblem p = problem_of(l, x, dy);
  p.direction = Direction::weight_gradient;
  p.out = Type::f32;
  Lowering::PlanPlaces at;
  at.y = l.read(dy, matrix(l, dy));
  at.x = l.read(x, matrix(l, x));
  at.w = l.write(dw, l.full(dw));
  l.plan(p, at);
}

const OpLowering kLowerings[] = {
    {Op::linear, forward}, {Op::linear_dgrad, input_gradient}, {Op::linear_wgrad, weight_gradient}};

}  // namespace

std::span<const OpLowering> linear_lowerings() { return kLowerings; }

}  // namespace convoy::cuda
