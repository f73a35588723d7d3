// softmax_xent and its gradient. Losses and probabilities are f32 whatever the precision. Where gradients of 16 bits
// would vanish, the gradient carries the device's own loss scale besides the core's.
#include "lowering.hpp"

#include <span>

namespace convoy::cuda {

namespace {

struct Shape {
  Shape(const GraphIndex& g, uint32_t n) : smoothing(g.attrs<SoftmaxXentAttrs>(n).label_smoothing) {
    need_f32(g, g.in(n, 0));
    need_rank(g, g.in(n, 0), 2);
    if (g.tensor(g.in(n, 1)).dtype != DType::i32) throw Refused("takes labels of i32");
    samples = g.tensor(g.in(n, 0)).dim[0];
    classes = g.tensor(g.in(n, 0)).dim[1];
  }
  int64_t samples, classes;
  double smoothing;
};

void forward(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const Shape shape(g, n);
  const auto f32 = plain(Type::f32), i32 = plain(Type::i32);
  l.kernel("loss",
           {Lowering::in(l.read(g.in(n, 0), f32)), Lowering::in(l.read(g.in(n, 1))), Lowering::out(l.write(g.out(n, 0), f32)),
            Lowering::out(l.write(g.out(n, 1), f32)), Lowering::out(l.write(g.out(n, 2), i32)), Lowering::out(l.write(g.out(n, 3), i32)),
            Lowering::out(l.make(softmax_xent_scratch_bytes(shape.samples)))},
           [shape](const Operands& p, cudaStream_t s) {
             SoftmaxXentArgs a;
             a.logits = {p.at<void>(0), 0}, a.labels = p.at<int32_t>(1), a.loss = p.at(2), a.probs = p.at(3);
             a.top1 = p.at<int32_t>(4), a.top5 = p.at<int32_t>(5), a.scratch = p.at<void>(6);
             a.n = shape.samples, a.k = shape.classes, a.label_smoothing = shape.smoothing;
             return softmax_xent(a, s);
           });
}

void grad(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const Shape shape(g, n);
  const Value dlogits = g.out(n, 0);
  const Form form = l.activation(dlogits);
  const Place scale = l.scaled(g.in(n, 2));
  l.kernel("loss_grad",
           {Lowering::in(l.read(g.in(n, 0), plain(Type::f32))), Lowering::in(l.read(g.in(n, 1))), Lowering::in(scale),
            Lowering::out(l.write(dlogits, form))},
           [shape, type = form.type](const Operands& p, cudaStream_t s) {
             SoftmaxXentGradArgs a;
             a.probs = p.at(0), a.labels = p.at<int32_t>(1), a.scale = p.at(2), a.dlogits = {p.at<void>(3), 0}, a.type = type;
             a.n = shape.samples, a.k = shape.classes, a.label_smoothing = shape.smoothing;
             return softmax_xent_grad(a, s);
           });
}

const OpLowering kLowerings[] = {{Op::softmax_xent, forward}, {Op::softmax_xent_grad, grad}};

}  // namespace

std::span<const OpLowering> softmax_xent_lowerings() { return kLowerings; }

}  // namespace convoy::cuda
