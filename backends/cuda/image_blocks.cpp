#include "image_blocks.hpp"

namespace convoy::cuda {

namespace {

constexpr int64_t kMostChannels = 3;  // of an image: more, and the libraries' own kernels do

/// A core's input, or what image_normalize makes of one: the only images that come as they are.
bool is_picture(const GraphIndex& g, Value x) {
  const uint32_t maker = g.producer(x);
  return maker == kNoNode ? g.tensor(x).role == Role::input : g.node(maker).op == Op::image_normalize && !g.is_boundary(x);
}

}  // namespace

std::optional<BlockShape> block_shape(const Lowering& l, uint32_t n, Value x) {
  const GraphIndex& g = l.graph();
  const bool gradient = g.node(n).op == Op::conv2d_wgrad;
  if (l.compute() == Type::f32 || (g.node(n).op != Op::conv2d && !gradient) || !is_picture(g, x)) return std::nullopt;
  const auto a = g.attrs<ConvAttrs>(n);
  const TensorDesc &xt = g.tensor(x), &yt = g.tensor(gradient ? g.in(n, 0) : g.out(n, 0));
  const bool fits = a.groups == 1 && a.dilation[0] == 1 && a.dilation[1] == 1 && a.stride[0] == a.stride[1] && a.stride[0] > 1 &&
                    xt.rank == 4 && xt.dtype == DType::f32 && xt.dim[1] <= kMostChannels;
  if (!fits) return std::nullopt;
  BlockShape b;
  b.n = xt.dim[0], b.c = xt.dim[1], b.k = yt.dim[1], b.stride = a.stride[0];
  for (int i = 0; i < 2; ++i) {
    b.size[i] = xt.dim[2 + i], b.out[i] = yt.dim[2 + i];
    b.kernel[i] = a.kernel[i], b.pad[i] = a.pad_lo[i];
  }
  b.derive();
  return b;
}

std::optional<BlockShape> common_block_shape(const Lowering& l, Value x) {
  std::optional<BlockShape> out;
  for (uint32_t n : l.graph().consumers(x)) {
    const auto b = block_shape(l, n, x);
    if (!b || (out && key_of(*out) != key_of(*b))) return std::nullopt;
    out = b;
  }
  return out;
}

std::string key_of(const BlockShape& b) {
  std::string out = "blocks";
  for (int64_t v : {b.stride, b.kernel[0], b.kernel[1], b.pad[0], b.pad[1], b.out[0], b.out[1]}) out += " " + std::to_string(v);
  return out;
}

uint64_t image_bytes(const BlockShape& b) { return static_cast<uint64_t>(2 * b.n * b.blocks[0] * b.blocks[1] * b.channels); }
uint64_t weight_bytes(const BlockShape& b) { return static_cast<uint64_t>(2 * b.k * b.window[0] * b.window[1] * b.channels); }

}  // namespace convoy::cuda
