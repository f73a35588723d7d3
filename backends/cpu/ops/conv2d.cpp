// conv2d and its gradients through oneDNN. Activations keep the layout that oneDNN likes best for the layer; weights
// are copied into its blocked form each step, or, where they do not change, once; weight gradients come back
// row-major. Without a backward pass, a batch_norm_infer behind a convolution is folded into its weights.
#include "lowering.hpp"

#include "kernels/flat.hpp"
#include "kernels/parallel.hpp"

#include <algorithm>
#include <cmath>

namespace convoy::cpu {

namespace {

/// The attributes and shapes of a convolution node, as oneDNN wants them.
struct Convolution {
  Convolution(const GraphIndex& g, uint32_t n, Value x, Value y, Value weights)
      : attrs(g.attrs<ConvAttrs>(n)), x(image(g.dims(x), Layout::plain)), y(image(g.dims(y), Layout::plain)) {
    if (attrs.compute != DType::f32 && attrs.compute != DType{}) throw Refused("accumulates in f32 only");
    const auto w = g.dims(weights);
    plain = canonical(attrs.groups == 1 ? w : Dims{attrs.groups, w[0] / attrs.groups, w[1], w[2], w[3]});
    window = {{attrs.kernel[0], attrs.kernel[1]},
              {attrs.stride[0], attrs.stride[1]},
              {attrs.dilation[0], attrs.dilation[1]},
              {attrs.pad_lo[0], attrs.pad_lo[1]},
              {attrs.pad_hi[0], attrs.pad_hi[1]}};
  }

  ConvAttrs attrs;
  Desc x, y;    // shapes; row-major
  Desc plain;   // of the weights, groups apart
  Window window;
};

/// The weights of a convolution with a batch normalisation of fixed statistics folded in:
/// w' = w gamma / sqrt(var + eps), b' = beta + (b - mean) gamma / sqrt(var + eps).
struct Folded {
  Tensor weights;  // row-major
  Tensor bias;
};

Folded fold(Lowering& l, Value w, Value bias, uint32_t norm) {
  const GraphIndex& g = l.graph();
  const double eps = g.attrs<BatchNormAttrs>(norm).eps;
  const int64_t outputs = g.dims(w)[0], each = g.elements(w) / outputs;
  const Folded out{l.make(canonical(g.tensor(w))), l.make(canonical(Dims{outputs}))};
  std::vector<Tensor> operands{l.read(w), l.read(g.in(norm, 1)), l.read(g.in(norm, 2)), l.read(g.in(norm, 3)),
                               l.read(g.in(norm, 4)), out.weights, out.bias};
  if (bias != kNoValue) operands.push_back(l.read(bias));
  const bool has_bias = bias != kNoValue;
  l.kernel("fold", operands, [=](const Operands& p) {
    const float *from = p.at(0), *gamma = p.at(1), *beta = p.at(2), *mean = p.at(3), *var = p.at(4);
    parallel_each(outputs, [&](int64_t k) {
      const double scale = static_cast<double>(gamma[k]) / std::sqrt(static_cast<double>(var[k]) + eps);
      const double before = has_bias ? static_cast<double>(p.at(7)[k]) : 0.0;
      flat().multiply(p.at(5) + k * each, from + k * each, static_cast<float>(scale), each);
      p.at(6)[k] = static_cast<float>(static_cast<double>(beta[k]) + (before - static_cast<double>(mean[k])) * scale);
    });
  }, When::refresh);
  return out;
}

/// What a group of a convolution consists of.
struct Parts {
  Value x = kNoValue, w = kNoValue, y = kNoValue;
  Value bias = kNoValue;
  Value residual = kNoValue;
  uint32_t norm = kNoNode;
  Epilogue epilogue;
};

Parts parts_of(const GraphIndex& g, const Group& group) {
  Parts p;
  p.x = g.in(group.leader, 0);
  p.w = g.in(group.leader, 1);
  p.y = g.out(group.nodes.back(), 0);
  if (const uint32_t n = group.member(g, Op::bias_add); n != kNoNode) p.bias = g.in(n, 1);
  p.norm = group.member(g, Op::batch_norm_infer);
  if (const uint32_t n = group.member(g, Op::add); n != kNoNode) {
    const bool first = g.producer(g.in(n, 0)) != kNoNode &&
                       std::find(group.nodes.begin(), group.nodes.end(), g.producer(g.in(n, 0))) != group.nodes.end();
    p.residual = g.in(n, first ? 1 : 0);
  }
  p.epilogue = {p.residual != kNoValue, group.member(g, Op::relu) != kNoNode};
  return p;
}

/// Where the result goes. The other operand of an add is what dst must hold beforehand: its own memory, where nobody
/// needs it any more.
Tensor destination(Lowering& l, const Parts& p, const Desc& desc, const Tensor& x) {
  if (p.residual == kNoValue) return l.write(p.y, desc);
  const Tensor residual = l.read(p.residual, desc);
  if (residual.buffer != x.buffer) {
    const Tensor over = l.write_over(p.y, desc, p.residual, residual);
    if (over.buffer != residual.buffer) l.reorder(residual, over);
    return over;
  }
  const Tensor y = l.write(p.y, desc);
  l.reorder(residual, y);
  return y;
}

void forward(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const Parts p = parts_of(g, group);
  const Convolution c(g, group.leader, p.x, g.out(group.leader, 0), p.w);
  const bool with_bias = p.bias != kNoValue || p.norm != kNoNode;
  const Desc bias = with_bias ? canonical(Dims{c.y.dims()[1]}) : Desc();
  const auto choose = [&](const Desc& x) {
    return convolution_forward(g.training(), x, any_layout(c.plain), bias, any_layout(c.y), c.window, p.epilogue);
  };
  const Primitive best = keep_if_equal(choose(any_layout(c.x)), choose(l.preferred(p.x)));
  need_implementation(best);

  const Tensor x = l.read(p.x, best.src());
  std::vector<PrimitiveStep::Argument> arguments{{DNNL_ARG_SRC, x}};
  if (p.norm != kNoNode) {
    const Folded folded = fold(l, p.w, p.bias, p.norm);
    const Tensor weights = l.make(best.weights());
    l.reorder({folded.weights.buffer, c.plain}, weights, When::refresh);
    arguments.push_back({DNNL_ARG_WEIGHTS, weights});
    arguments.push_back({DNNL_ARG_BIAS, folded.bias});
  } else {
    arguments.push_back({DNNL_ARG_WEIGHTS, l.read(p.w, best.weights(), &c.plain)});
    if (with_bias) arguments.push_back({DNNL_ARG_BIAS, l.read(p.bias)});
  }
  arguments.push_back({DNNL_ARG_DST, destination(l, p, best.dst(), x)});
  l.primitive(best, std::move(arguments));
  l.say(name_of(layout_of(best.dst())));
}

void grad_of_data(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const Value dy = g.in(n, 0), w = g.in(n, 1), dx = g.out(n, 0);
  const Convolution c(g, n, dx, dy, w);
  const auto choose = [&](const Desc& from) {
    return convolution_backward_data(any_layout(c.x), any_layout(c.plain), from, c.window);
  };
  const Primitive best = keep_if_equal(choose(any_layout(c.y)), choose(l.preferred(dy)));
  need_implementation(best);
  l.primitive(best, {{DNNL_ARG_DIFF_DST, l.read(dy, best.diff_dst())},
                     {DNNL_ARG_WEIGHTS, l.read(w, best.weights(), &c.plain)},
                     {DNNL_ARG_DIFF_SRC, l.write(dx, best.diff_src())}});
}

void grad_of_weights(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader, with_bias = group.member(g, Op::bias_grad);
  const Value dy = g.in(n, 0), x = g.in(n, 1), dw = g.out(n, 0);
  const Convolution c(g, n, x, dy, dw);
  const Desc bias = with_bias == kNoNode ? Desc() : canonical(Dims{c.y.dims()[1]});
  const auto choose = [&](const Desc& from_x, const Desc& from_dy) {
    return convolution_backward_weights(from_x, any_layout(c.plain), bias, from_dy, c.window);
  };
  const Primitive best = keep_if_equal(choose(any_layout(c.x), any_layout(c.y)), choose(l.preferred(x), l.preferred(dy)));
  need_implementation(best);

  const Tensor out = l.write(dw);
  const bool direct = same_memory(best.diff_weights(), c.plain);
  const Tensor made = direct ? Tensor{out.buffer, best.diff_weights()} : l.make(best.diff_weights());
  std::vector<PrimitiveStep::Argument> arguments{{DNNL_ARG_SRC, l.read(x, best.src())},
                                                 {DNNL_ARG_DIFF_DST, l.read(dy, best.diff_dst())},
                                                 {DNNL_ARG_DIFF_WEIGHTS, made}};
  if (with_bias != kNoNode) arguments.push_back({DNNL_ARG_DIFF_BIAS, l.write(g.out(with_bias, 0))});
  l.primitive(best, std::move(arguments));
  if (!direct) l.reorder(made, {out.buffer, c.plain});
}

const OpLowering kLowerings[] = {
    {Op::conv2d, forward}, {Op::conv2d_dgrad, grad_of_data}, {Op::conv2d_wgrad, grad_of_weights}};

}  // namespace

std::span<const OpLowering> conv2d_lowerings() { return kLowerings; }

}  // namespace convoy::cpu
