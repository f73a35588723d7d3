// conv2d and its gradients: plans of cuDNN or cuBLASLt, channels last. Weights are read in the compute type, from copies
// that refresh() and the updates write; their gradients end in f32. Without a backward pass, a batch_norm_infer behind a
// convolution is folded into its weights.
#include "image_blocks.hpp"
#include "lowering.hpp"
#include "product.hpp"

namespace convoy::cuda {

namespace {

/// `channels` of x in memory: more than C where an image is padded.
ConvProblem problem_of(const Lowering& l, uint32_t n, Value x, Value y, const Form& x_form) {
  const GraphIndex& g = l.graph();
  const auto a = g.attrs<ConvAttrs>(n);
  if (a.compute != DType::f32 && a.compute != DType{}) throw Refused("accumulates in f32 only");
  const TensorDesc &xt = g.tensor(x), &yt = g.tensor(y);
  ConvProblem p = empty_problem(l);
  p.N = xt.dim[0], p.C = x_form.channels, p.H = xt.dim[2], p.W = xt.dim[3];
  p.K = yt.dim[1], p.P = yt.dim[2], p.Q = yt.dim[3];
  p.R = a.kernel[0], p.S = a.kernel[1], p.groups = a.groups;
  for (std::size_t i = 0; i < 2; ++i) {
    p.stride[i] = a.stride[i], p.dilation[i] = a.dilation[i];
    p.pad_lo[i] = a.pad_lo[i], p.pad_hi[i] = a.pad_hi[i];
  }
  return p;
}

/// The same convolution over blocks of pixels.
ConvProblem blocked(ConvProblem p, const BlockShape& b) {
  p.C = b.channels, p.H = b.blocks[0], p.W = b.blocks[1], p.R = b.window[0], p.S = b.window[1];
  p.stride = {1, 1};
  p.pad_lo = p.pad_hi = {0, 0};
  return p;
}

Place blocked_image(Lowering& l, Value x, const BlockShape& b) {
  return l.derived(x, key_of(b), image_bytes(b), [b, type = l.compute()](const Operands& p, cudaStream_t s) {
    BlockImageArgs a;
    a.shape = b, a.x = p.at<void>(0), a.y = p.at<void>(1), a.y_type = type;
    return block_image(a, s);
  });
}

KernelStep::Body weight_blocks(const BlockShape& b, Type type) {
  return [=](const Operands& p, cudaStream_t s) { return block_weights(b, p.at(0), p.at<void>(1), type, s); };
}

Form input_form(const Lowering& l, uint32_t n, Value x) {
  return l.graph().attrs<ConvAttrs>(n).groups == 1 ? l.image(x) : l.activation(x);
}

/// Of weights that are multiplied with an input of that form.
Form weight_form(const Lowering& l, Value w, const Form& x_form, int64_t groups) {
  Form f = packed(l.graph().tensor(w), l.compute());
  if (groups == 1) f.channels = x_form.channels;
  return f;
}

struct Folded {
  Place weights, bias, bias_f32;
};

/// The weights of a convolution with a batch normalisation of fixed statistics folded in, made in refresh().
Folded fold(Lowering& l, Value w, Value bias, uint32_t norm, const Form& form, const std::optional<BlockShape>& blocks) {
  const GraphIndex& g = l.graph();
  const TensorDesc t = g.tensor(w);
  const int64_t outputs = t.dim[0], each = g.elements(w) / outputs;
  const bool direct = form.channels == t.dim[1] && !blocks;
  const Form unpadded = packed(t, direct ? form.type : Type::f32);
  const Place folded = l.make(bytes_in(t, unpadded)), bias_f32 = l.make(4 * static_cast<uint64_t>(outputs));
  const double eps = g.attrs<BatchNormAttrs>(norm).eps;
  std::vector<Lowering::Use> uses{Lowering::in(l.read(w, l.full(w)))};
  for (uint32_t i = 1; i < 5; ++i) uses.push_back(Lowering::in(l.read(g.in(norm, i))));
  uses.push_back(Lowering::out(folded));
  uses.push_back(Lowering::out(bias_f32));
  if (bias != kNoValue) uses.push_back(Lowering::in(l.read(bias)));
  l.kernel("fold", uses, [=, type = unpadded.type, with_bias = bias != kNoValue](const Operands& p, cudaStream_t s) {
    FoldBatchNormArgs a;
    a.w = p.at(0), a.gamma = p.at(1), a.beta = p.at(2), a.mean = p.at(3), a.var = p.at(4);
    a.w_out = p.at<void>(5), a.bias_out = p.at<void>(6), a.bias = with_bias ? p.at(7) : nullptr;
    a.eps = eps, a.w_type = type, a.bias_type = Type::f32, a.k = outputs, a.per_output = each;
    return fold_batch_norm(a, s);
  }, When::refresh);

  Folded out{folded, bias_f32, bias_f32};
  if (blocks) {
    out.weights = l.make(weight_bytes(*blocks));
    l.kernel("blocks", {Lowering::in(folded), Lowering::out(out.weights)}, weight_blocks(*blocks, form.type), When::refresh);
  } else if (!direct) {
    out.weights = l.make(bytes_in(t, form));
    l.kernel("pad", {Lowering::in(folded), Lowering::out(out.weights)}, [t, unpadded, form](const Operands& p, cudaStream_t s) {
      return convert(t, p.at<void>(0), unpadded, p.at<void>(1), form, s);
    }, When::refresh);
  }
  if (form.type != Type::f32) {
    out.bias = l.make(2 * static_cast<uint64_t>(outputs));
    l.kernel("narrow", {Lowering::in(bias_f32), Lowering::out(out.bias)}, [=, type = form.type](const Operands& p, cudaStream_t s) {
      CastArgs a;
      a.x = p.at<void>(0), a.y = p.at<void>(1), a.y_type = type, a.count = outputs;
      return cast(a, s);
    }, When::refresh);
  }
  return out;
}

void forward(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader, bias_node = group.member(g, Op::bias_add), norm = group.member(g, Op::batch_norm_infer);
  const uint32_t add = group.member(g, Op::add);
  const Value x = g.in(n, 0), w = g.in(n, 1), y = g.out(group.nodes.back(), 0);
  const Value bias = bias_node == kNoNode ? kNoValue : g.in(bias_node, 1);
  const Form x_form = input_form(l, n, x);
  ConvProblem p = problem_of(l, n, x, g.out(n, 0), x_form);
  const auto blocks = block_shape(l, n, x);
  if (blocks) p = blocked(p, *blocks);
  const Form w_form = weight_form(l, w, x_form, p.groups);
  p.bias = bias != kNoValue || norm != kNoNode;
  p.add = add != kNoNode;
  p.relu = group.member(g, Op::relu) != kNoNode;

  Lowering::PlanPlaces at;
  at.x = blocks ? blocked_image(l, x, *blocks) : l.read(x, x_form);
  if (norm != kNoNode) {
    const Folded folded = fold(l, w, bias, norm, w_form, blocks);
    at.w = folded.weights, at.bias = folded.bias, at.bias_f32 = folded.bias_f32;
  } else {
    at.w = blocks ? l.derived(w, key_of(*blocks), weight_bytes(*blocks), weight_blocks(*blocks, l.compute())) : l.read(w, w_form);
    if (p.bias) at.bias = l.read(bias, plain(l.compute())), at.bias_f32 = l.read(bias, plain(Type::f32));
  }
  if (p.add) {
    uint32_t before = n;  // the member in front of the add
    for (uint32_t m : group.nodes)
      if (m == add) break;
      else before = m;
    const Value residual = g.in(add, 0) == g.out(before, 0) ? g.in(add, 1) : g.in(add, 0);
    at.add = l.read(residual, l.activation(residual));
  }
  at.y = l.write(y, l.activation(y));
  l.plan(p, at);
}

void input_gradient(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const Value dy = g.in(n, 0), w = g.in(n, 1), dx = g.out(n, 0);
  ConvProblem p = problem_of(l, n, dx, dy, l.activation(dx));
  p.direction = Direction::input_gradient;
  Lowering::PlanPlaces at;
  at.y = l.read(dy, l.activation(dy));
  at.w = l.read(w, packed(g.tensor(w), l.compute()));
  at.x = l.write(dx, l.activation(dx));
  l.plan(p, at);
}

void blocked_weight_gradient(Lowering& l, uint32_t n, const ConvProblem& p, const BlockShape& b) {
  const GraphIndex& g = l.graph();
  const Value dy = g.in(n, 0), x = g.in(n, 1), dw = g.out(n, 0);
  Lowering::PlanPlaces at;
  at.y = l.read(dy, l.activation(dy));
  at.x = blocked_image(l, x, b);
  at.w = l.make(weight_bytes(b));
  l.plan(p, at);
  l.kernel("unblock", {Lowering::in(at.w), Lowering::out(l.write(dw, l.full(dw)))},
           [b, type = l.compute()](const Operands& q, cudaStream_t s) { return unblock_weights(b, q.at<void>(0), type, q.at(1), s); });
}

/// The libraries' convolutions write a weight gradient in the type of their input; a product writes f32 at once.
void weight_gradient(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const Value dy = g.in(n, 0), x = g.in(n, 1), dw = g.out(n, 0);
  const Form x_form = input_form(l, n, x);
  ConvProblem p = problem_of(l, n, x, dy, x_form);
  p.direction = Direction::weight_gradient;
  if (const auto blocks = block_shape(l, n, x)) return blocked_weight_gradient(l, n, blocked(p, *blocks), *blocks);
  const Form padded = weight_form(l, dw, x_form, p.groups);
  Form written = padded;
  if (p.is_product()) p.out = written.type = Type::f32;
  Lowering::PlanPlaces at;
  at.y = l.read(dy, l.activation(dy));
  at.x = l.read(x, x_form);
  if (same_memory(g.tensor(dw), written, l.full(dw))) {
    at.w = l.write(dw, l.full(dw));
    return l.plan(p, at);
  }
  at.w = l.make(bytes_in(g.tensor(dw), written));
  l.plan(p, at);
  const TensorDesc t = g.tensor(dw);
  l.kernel("widen", {Lowering::in(at.w), Lowering::out(l.write(dw, l.full(dw)))},
           [t, written, to = l.full(dw)](const Operands& q, cudaStream_t s) {
             return convert(t, q.at<void>(0), written, q.at<void>(1), to, s);
           });
}

const OpLowering kLowerings[] = {
    {Op::conv2d, forward}, {Op::conv2d_dgrad, input_gradient}, {Op::conv2d_wgrad, weight_gradient}};

}  // namespace

std::span<const OpLowering> conv2d_lowerings() { return kLowerings; }

}  // namespace convoy::cuda
