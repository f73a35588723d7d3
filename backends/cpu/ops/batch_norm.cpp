// batch_norm, batch_norm_infer and batch_norm_grad through oneDNN, with a ReLU behind it in the same pass.
// oneDNN keeps the variance where the catalogue keeps 1 / sqrt(var + eps); small kernels translate, and update the
// running statistics, for which oneDNN has nothing.
#include "lowering.hpp"

#include "kernels/flat.hpp"

#include <algorithm>
#include <cmath>

namespace convoy::cpu {

namespace {

/// oneDNN's choice for x as it lies, else for another layout that it has code for.
template <class Choose>
Primitive choose_layout(const Lowering& l, Value x, const Choose& choose) {
  Primitive best = choose(l.preferred(x));
  for (Layout other : {Layout::channels_last, Layout::plain})
    if (best.quality() == 0) best = choose(image(l.graph().dims(x), other));
  return best;
}

/// running = (1 - momentum) running + momentum batch, the variance unbiased.
void update_statistics(Lowering& l, uint32_t n, const Tensor& mean, const Tensor& variance) {
  const GraphIndex& g = l.graph();
  const double momentum = g.attrs<BatchNormAttrs>(n).momentum;
  const auto x = g.dims(g.in(n, 0));
  const int64_t channels = x[1], samples = x[0] * x[2] * x[3];
  const double unbiased = samples > 1 ? static_cast<double>(samples) / static_cast<double>(samples - 1) : 1.0;
  const Tensor old_mean = l.read(g.in(n, 3)), old_variance = l.read(g.in(n, 4));
  const auto mixed = [momentum](float old, double batch) {
    return static_cast<float>((1 - momentum) * static_cast<double>(old) + momentum * batch);
  };
  l.kernel("statistics",
           {mean, variance, old_mean, old_variance, l.write(g.out(n, 3)), l.write(g.out(n, 4)), l.alarm()},
           [=](const Operands& p) {
             for (int64_t c = 0; c < channels; ++c) {
               p.at(4)[c] = mixed(p.at(2)[c], static_cast<double>(p.at(0)[c]));
               p.at(5)[c] = mixed(p.at(3)[c], static_cast<double>(p.at(1)[c]) * unbiased);
             }
             *p.at<uint32_t>(6) |= flat().not_finite(p.at(4), channels) | flat().not_finite(p.at(5), channels);
           });
}

/// saved_inv_std, where somebody else than batch_norm_grad wants it.
void give_inverse_deviation(Lowering& l, uint32_t n, const Tensor& variance) {
  const GraphIndex& g = l.graph();
  const Value v = g.out(n, 2);
  const auto& readers = g.consumers(v);
  const bool only_gradients = std::all_of(readers.begin(), readers.end(), [&](uint32_t r) {
    return g.node(r).op == Op::batch_norm_grad && g.in(r, 4) == v;
  });
  if (only_gradients && !g.is_boundary(v)) return;
  const double eps = g.attrs<BatchNormAttrs>(n).eps;
  const int64_t channels = g.elements(v);
  l.kernel("deviation", {variance, l.write(v)}, [=](const Operands& p) {
    for (int64_t c = 0; c < channels; ++c)
      p.at(1)[c] = static_cast<float>(1 / std::sqrt(static_cast<double>(p.at(0)[c]) + eps));
  });
}

void forward(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const Value x = g.in(n, 0), y = g.out(group.nodes.back(), 0);
  const bool relu = group.nodes.size() == 2;
  const auto eps = static_cast<float>(g.attrs<BatchNormAttrs>(n).eps);
  const Primitive best = choose_layout(l, x, [&](const Desc& d) { return batch_norm_forward(d, eps, false, relu); });

  const Tensor mean = l.write(g.out(n, 1)), variance = l.make(canonical(g.tensor(g.out(n, 2))));
  std::vector<PrimitiveStep::Argument> arguments{
      {DNNL_ARG_SRC, l.read(x, best.src())}, {DNNL_ARG_SCALE, l.read(g.in(n, 1))}, {DNNL_ARG_SHIFT, l.read(g.in(n, 2))},
      {DNNL_ARG_MEAN, mean},                 {DNNL_ARG_VARIANCE, variance},        {DNNL_ARG_DST, l.write(y, best.dst())}};
  if (relu) {
    const Tensor mask = l.make(best.workspace());
    arguments.push_back({DNNL_ARG_WORKSPACE, mask});
    l.workspaces[y] = {best.src(), mask};
  }
  l.primitive(best, std::move(arguments));
  l.variances[g.out(n, 2)] = variance;
  update_statistics(l, n, mean, variance);
  give_inverse_deviation(l, n, variance);
}

void infer(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const Value x = g.in(n, 0), y = g.out(group.nodes.back(), 0);
  const auto eps = static_cast<float>(g.attrs<BatchNormAttrs>(n).eps);
  const Primitive best =
      choose_layout(l, x, [&](const Desc& d) { return batch_norm_forward(d, eps, true, group.nodes.size() == 2); });
  const Tensor from = l.read(x, best.src());
  l.primitive(best, {{DNNL_ARG_SRC, from},
                     {DNNL_ARG_SCALE, l.read(g.in(n, 1))},
                     {DNNL_ARG_SHIFT, l.read(g.in(n, 2))},
                     {DNNL_ARG_MEAN, l.read(g.in(n, 3))},
                     {DNNL_ARG_VARIANCE, l.read(g.in(n, 4))},
                     {DNNL_ARG_DST, l.write_over(y, best.dst(), x, from)}});
}

/// The variance behind a saved_inv_std: the forward pass's own, or computed back.
Tensor variance_of(Lowering& l, Value inverse, double eps) {
  if (const auto known = l.variances.find(inverse); known != l.variances.end()) return known->second;
  const Tensor variance = l.make(canonical(l.graph().tensor(inverse)));
  const int64_t channels = l.graph().elements(inverse);
  l.kernel("variance", {l.read(inverse), variance}, [=](const Operands& p) {
    for (int64_t c = 0; c < channels; ++c) {
      const double i = static_cast<double>(p.at(0)[c]);
      p.at(1)[c] = static_cast<float>(1 / (i * i) - eps);
    }
  });
  return variance;
}

void grad(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader, relu_grad = group.member(g, Op::relu_grad);
  const bool relu = relu_grad != kNoNode;
  const Value dy = g.in(relu ? relu_grad : n, 0), x = g.in(n, 1);
  const double eps = g.attrs<BatchNormAttrs>(n).eps;
  const auto choose = [&](const Desc& d) { return batch_norm_backward(d, static_cast<float>(eps), relu); };
  // The mask was written for the layout of the forward pass.
  const Primitive best =
      relu ? choose(l.workspaces.at(g.in(relu_grad, 1)).layout) : choose_layout(l, x, choose);
  const Tensor from = l.read(dy, best.diff_dst());
  std::vector<PrimitiveStep::Argument> arguments{{DNNL_ARG_SRC, l.read(x, best.src())},
                                                 {DNNL_ARG_DIFF_DST, from},
                                                 {DNNL_ARG_SCALE, l.read(g.in(n, 2))},
                                                 {DNNL_ARG_SHIFT, l.read(g.in(n, 2))},  // demanded, and not read
                                                 {DNNL_ARG_MEAN, l.read(g.in(n, 3))},
                                                 {DNNL_ARG_VARIANCE, variance_of(l, g.in(n, 4), eps)},
                                                 {DNNL_ARG_DIFF_SCALE, l.write(g.out(n, 1))},
                                                 {DNNL_ARG_DIFF_SHIFT, l.write(g.out(n, 2))},
                                                 {DNNL_ARG_DIFF_SRC, l.write_over(g.out(n, 0), best.diff_src(), dy, from)}};
  if (relu) arguments.push_back({DNNL_ARG_WORKSPACE, l.workspaces.at(g.in(relu_grad, 1)).tensor});
  l.primitive(best, std::move(arguments));
}

const OpLowering kLowerings[] = {
    {Op::batch_norm, forward}, {Op::batch_norm_infer, infer}, {Op::batch_norm_grad, grad}};

}  // namespace

std::span<const OpLowering> batch_norm_lowerings() { return kLowerings; }

}  // namespace convoy::cpu
