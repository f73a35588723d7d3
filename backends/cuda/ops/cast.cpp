// cast, cast_copy, image_normalize and fill.
#include "image_blocks.hpp"
#include "lowering.hpp"

#include <algorithm>
#include <span>

namespace convoy::cuda {

namespace {

void cast_node(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const Value x = g.in(group.leader, 0), y = g.out(group.leader, 0);
  const Form from = plain(g.tensor(x)), to = plain(g.tensor(y));
  const int64_t count = g.elements(x);
  l.kernel("cast", {Lowering::in(l.read(x, from)), Lowering::out(l.write(y, to))}, [=](const Operands& p, cudaStream_t s) {
    CastArgs a;
    a.x = p.at<void>(0), a.x_type = from.type, a.y = p.at<void>(1), a.y_type = to.type, a.count = count;
    return cast(a, s);
  });
}

/// Straight into what the first convolution takes: channels last, padded, in the compute type.
Form normalized_form(const Lowering& l, Value y) {
  const GraphIndex& g = l.graph();
  const auto& readers = g.consumers(y);
  const bool images = !g.is_boundary(y) && std::all_of(readers.begin(), readers.end(), [&](uint32_t n) {
    return g.node(n).op == Op::conv2d || g.node(n).op == Op::conv2d_wgrad;
  });
  return images ? l.image(y) : l.activation(y);
}

void normalize(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const auto attrs = g.attrs<ImageNormalizeAttrs>(group.leader);
  const Value x = g.in(group.leader, 0), y = g.out(group.leader, 0);
  need_rank(g, x, 4);
  const TensorDesc& t = g.tensor(x);
  if (t.dim[1] > 4) throw Refused("takes pictures of at most 4 channels");
  if (t.dtype != DType::u8) need_f32(g, x);
  if (const auto blocks = common_block_shape(l, y)) {
    BlockImageArgs args;
    args.shape = *blocks, args.x_type = type_of(t.dtype), args.y_type = l.compute();
    std::copy(attrs.mean, attrs.mean + 4, args.mean);
    std::copy(attrs.stdev, attrs.stdev + 4, args.stdev);
    return l.kernel("normalize to blocks", {Lowering::in(l.read(x)), Lowering::out(l.write_derived(y, key_of(*blocks), image_bytes(*blocks)))},
                    [args](const Operands& p, cudaStream_t s) {
                      BlockImageArgs a = args;
                      a.x = p.at<void>(0), a.y = p.at<void>(1);
                      return block_image(a, s);
                    });
  }
  const Form form = normalized_form(l, y);
  ImageNormalizeArgs args;
  args.x_type = type_of(t.dtype), args.y_type = form.type;
  args.n = t.dim[0], args.c = t.dim[1], args.h = t.dim[2], args.w = t.dim[3], args.c_padded = form.channels;
  std::copy(attrs.mean, attrs.mean + 4, args.mean);
  std::copy(attrs.stdev, attrs.stdev + 4, args.stdev);
  l.kernel("normalize", {Lowering::in(l.read(x)), Lowering::out(l.write(y, form))}, [args](const Operands& p, cudaStream_t s) {
    ImageNormalizeArgs a = args;
    a.x = p.at<void>(0), a.y = {p.at<void>(1), 0};
    return image_normalize(a, s);
  });
}

/// Constant, and cheap: written each step, so that nothing need live across steps.
void fill_node(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const auto attrs = g.attrs<FillAttrs>(group.leader);
  const Value y = g.out(group.leader, 0);
  const Form form = attrs.dtype == DType::f32 && !g.is_boundary(y) ? plain(l.activation(y).type) : plain(g.tensor(y));
  FillArgs args;
  args.type = form.type, args.count = g.elements(y), args.value = attrs.value;
  l.kernel("fill", {Lowering::out(l.write(y, form))}, [args](const Operands& p, cudaStream_t s) {
    FillArgs a = args;
    a.y = p.at<void>(0);
    return fill(a, s);
  });
}

const OpLowering kLowerings[] = {
    {Op::cast, cast_node}, {Op::cast_copy, cast_node}, {Op::image_normalize, normalize}, {Op::fill, fill_node}};

}  // namespace

std::span<const OpLowering> cast_lowerings() { return kLowerings; }

}  // namespace convoy::cuda
