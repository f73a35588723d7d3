// batch_norm, batch_norm_infer and batch_norm_grad with the add and relu around them: own kernels, two passes each way.
#include "lowering.hpp"

#include <span>

namespace convoy::cuda {

namespace {

/// The other operand of the group's add; kNoValue where it has none.
Value residual_of(const GraphIndex& g, const Group& group) {
  const uint32_t add = group.member(g, Op::add);
  if (add == kNoNode) return kNoValue;
  const Value own = g.out(group.leader, 0);
  return g.in(add, 0) == own ? g.in(add, 1) : g.in(add, 0);
}

bool has_gradient(const GraphIndex& g, Value y) {
  for (uint32_t n : g.consumers(y))
    if (g.node(n).op == Op::relu_grad) return true;
  return false;
}

void statistics(Lowering& l, uint32_t n, const Place& x, const Form& form, const Place& mean, const Place& inv_std) {
  const GraphIndex& g = l.graph();
  const auto attrs = g.attrs<BatchNormAttrs>(n);
  const Extent e(g.tensor(g.in(n, 0)));
  l.kernel("statistics",
           {Lowering::in(x), Lowering::out(mean), Lowering::out(inv_std), Lowering::in(l.read(g.in(n, 3))), Lowering::in(l.read(g.in(n, 4))),
            Lowering::out(l.write(g.out(n, 3), plain(Type::f32))), Lowering::out(l.write(g.out(n, 4), plain(Type::f32))),
            Lowering::out(l.make(batch_norm_statistics_scratch_bytes(e.rows(), e.c)))},
           [=, type = form.type](const Operands& p, cudaStream_t s) {
             BatchNormStatisticsArgs a;
             a.x = {p.at<void>(0), 0}, a.type = type, a.rows = e.rows(), a.c = e.c;
             a.saved_mean = p.at(1), a.saved_inv_std = p.at(2), a.running_mean = p.at(3), a.running_var = p.at(4);
             a.new_running_mean = p.at(5), a.new_running_var = p.at(6), a.scratch = p.at<void>(7);
             a.eps = attrs.eps, a.momentum = attrs.momentum;
             return batch_norm_statistics(a, s);
           });
}

void forward(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const Value x = g.in(n, 0), y = g.out(group.nodes.back(), 0), residual = residual_of(g, group);
  need_rank(g, x, 4);
  const bool relu = group.member(g, Op::relu) != kNoNode;
  const Form form = l.activation(x);
  const Extent e(g.tensor(x));
  const Place from = l.read(x, form);
  const Place mean = l.write(g.out(n, 1), plain(Type::f32)), inv_std = l.write(g.out(n, 2), plain(Type::f32));
  statistics(l, n, from, form, mean, inv_std);
  std::vector<Lowering::Use> uses{Lowering::in(from),
                                  Lowering::in(l.read(g.in(n, 1))),
                                  Lowering::in(l.read(g.in(n, 2))),
                                  Lowering::in(mean),
                                  Lowering::in(inv_std),
                                  Lowering::out(l.write(y, form))};
  const bool masked = relu && has_gradient(g, y), with_add = residual != kNoValue;
  if (masked) {
    l.kept[y] = l.make(batch_norm_mask_bytes(e.rows(), e.c, form.type));
    uses.push_back(Lowering::out(l.kept[y]));
  }
  if (with_add) uses.push_back(Lowering::in(l.read(residual, form)));
  l.kernel("apply", uses, [=, type = form.type](const Operands& p, cudaStream_t s) {
    BatchNormApplyArgs a;
    a.x = {p.at<void>(0), 0}, a.gamma = p.at(1), a.beta = p.at(2), a.mean = p.at(3), a.inv_std = p.at(4);
    a.y = {p.at<void>(5), 0}, a.relu = relu, a.type = type, a.rows = e.rows(), a.c = e.c;
    if (masked) a.mask = p.at<uint8_t>(6);
    if (with_add) a.add = {p.at<void>(masked ? 7 : 6), 0};
    return batch_norm_apply(a, s);
  });
}

void infer(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const Value x = g.in(n, 0), y = g.out(group.nodes.back(), 0), residual = residual_of(g, group);
  need_rank(g, x, 4);
  const Form form = l.activation(x);
  const Extent e(g.tensor(x));
  const double eps = g.attrs<BatchNormAttrs>(n).eps;
  const bool relu = group.member(g, Op::relu) != kNoNode, with_add = residual != kNoValue;
  std::vector<Lowering::Use> uses{Lowering::in(l.read(x, form))};
  for (uint32_t i = 1; i < 5; ++i) uses.push_back(Lowering::in(l.read(g.in(n, i))));
  uses.push_back(Lowering::out(l.write(y, form)));
  if (with_add) uses.push_back(Lowering::in(l.read(residual, form)));
  l.kernel("apply", uses, [=, type = form.type](const Operands& p, cudaStream_t s) {
    BatchNormApplyArgs a;
    a.x = {p.at<void>(0), 0}, a.gamma = p.at(1), a.beta = p.at(2), a.mean = p.at(3), a.var = p.at(4), a.eps = eps;
    a.y = {p.at<void>(5), 0}, a.relu = relu, a.type = type, a.rows = e.rows(), a.c = e.c;
    if (with_add) a.add = {p.at<void>(6), 0};
    return batch_norm_apply(a, s);
  });
}

/// A relu_grad in front, and a sum of two gradients in front of that, are part of the pass; what the relu_grad gave is
/// written where others read it.
void grad(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader, relu = group.member(g, Op::relu_grad), sum = group.member(g, Op::add_n);
  const Value x = g.in(n, 1), dx = g.out(n, 0);
  need_rank(g, x, 4);
  const Value dy = g.in(sum != kNoNode ? sum : relu != kNoNode ? relu : n, 0);
  const Form form = l.activation(x);
  const Extent e(g.tensor(x));
  std::vector<Lowering::Use> uses{Lowering::in(l.read(dy, form)),
                                  Lowering::in(l.read(x, form)),
                                  Lowering::in(l.read(g.in(n, 2))),
                                  Lowering::in(l.read(g.in(n, 3))),
                                  Lowering::in(l.read(g.in(n, 4))),
                                  Lowering::out(l.write(dx, form)),
                                  Lowering::out(l.write(g.out(n, 1), plain(Type::f32))),
                                  Lowering::out(l.write(g.out(n, 2), plain(Type::f32))),
                                  Lowering::out(l.make(batch_norm_grad_scratch_bytes(e.rows(), e.c)))};
  const auto mask = relu == kNoNode ? l.kept.end() : l.kept.find(g.in(relu, 1));
  const bool with_mask = mask != l.kept.end(), with_relu = relu != kNoNode;
  if (with_relu) uses.push_back(Lowering::in(with_mask ? mask->second : l.read(g.in(relu, 1), form)));
  const bool forked = with_relu && (g.consumers(g.out(relu, 0)).size() > 1 || g.is_boundary(g.out(relu, 0)));
  if (forked) uses.push_back(Lowering::out(l.write(g.out(relu, 0), form)));
  if (sum != kNoNode) uses.push_back(Lowering::in(l.read(g.in(sum, 1), form)));
  l.kernel("grad", uses, [=, type = form.type, summed = sum != kNoNode](const Operands& p, cudaStream_t s) {
    BatchNormGradArgs a;
    a.dy = {p.at<void>(0), 0}, a.x = {p.at<void>(1), 0}, a.gamma = p.at(2), a.saved_mean = p.at(3), a.saved_inv_std = p.at(4);
    a.dx = {p.at<void>(5), 0}, a.dgamma = p.at(6), a.dbeta = p.at(7), a.scratch = p.at<void>(8);
    a.type = type, a.rows = e.rows(), a.c = e.c;
    std::size_t next = 9;
    if (with_relu && with_mask) a.mask = p.at<uint8_t>(next++);
    else if (with_relu) a.y = {p.at<void>(next++), 0};
    if (forked) a.dadd = {p.at<void>(next++), 0};
    if (summed) a.dy2 = {p.at<void>(next++), 0};
    return batch_norm_grad(a, s);
  });
}

const OpLowering kLowerings[] = {
    {Op::batch_norm, forward}, {Op::batch_norm_infer, infer}, {Op::batch_norm_grad, grad}};

}  // namespace

std::span<const OpLowering> batch_norm_lowerings() { return kLowerings; }

}  // namespace convoy::cuda
