// cast, cast_copy, image_normalize and fill: values made or converted element by element.
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

#include <fmt/format.h>

#include <cmath>

namespace convoy::ir {

namespace {

constexpr int64_t kMostChannels = 4;  // ImageNormalizeAttrs

bool is_float(DType t) { return t == DType::f32 || t == DType::f16 || t == DType::bf16; }

void need_known_type(const Inference& n, DType t) {
  if (size_of(t) == 0) n.refuse(fmt::format("no type has the number {}", static_cast<uint32_t>(t)));
}

void infer_cast(Inference& n) {
  const DType to = n.attrs<CastAttrs>().to;
  need_known_type(n, to);
  n.give(to, n.in(0).dims);
}

/// Through an integer nothing flows back.
void gradient_cast(Backward& b) {
  const DType from = b.tensor(b.in(0)).dtype;
  if (!is_float(from) || !is_float(b.attrs<CastAttrs>().to)) return;
  const CastAttrs back{sizeof(CastAttrs), from};
  b.set(0, b.emit_one(Op::cast, {b.dy()}, pack(back), "grad"));
}

bool keeps_type(const Graph& g, const Node& n) { return g[n.in[0]].dtype == unpack<CastAttrs>(n).to; }

void infer_cast_copy(Inference& n) {
  n.need_type(0, DType::f32);
  const DType to = n.attrs<CastAttrs>().to;
  if (to != DType::f16 && to != DType::bf16) n.refuse("a working copy is f16 or bf16");
  n.give(to, n.in(0).dims);
}

void infer_normalize(Inference& n) {
  n.need_rank(0, 4);
  if (n.in(0).dtype != DType::u8) n.need_type(0, DType::f32);
  const auto a = n.attrs<ImageNormalizeAttrs>();
  const int64_t channels = n.in(0).dims[1];
  if (channels > kMostChannels) n.refuse(fmt::format("{} channels; at most {} are allowed", channels, kMostChannels));
  for (int64_t c = 0; c < channels; ++c) {
    if (!std::isfinite(a.mean[c])) n.refuse(fmt::format("the mean of channel {} is {}", c, a.mean[c]));
    if (!(a.stdev[c] > 0) || !std::isfinite(a.stdev[c]))
      n.refuse(fmt::format("the deviation of channel {} is {}; it must be positive", c, a.stdev[c]));
  }
  n.give(DType::f32, n.in(0).dims);
}

void infer_fill(Inference& n) {
  const auto a = n.attrs<FillAttrs>();
  if (a.rank > 6) n.refuse(fmt::format("{} dimensions; at most 6 are allowed", a.rank));
  need_known_type(n, a.dtype);
  n.give(a.dtype, {a.dim, a.dim + a.rank});
}

const OpRule kRules[] = {
    {.op = Op::cast, .name = "cast", .min_inputs = 1, .max_inputs = 1, .attrs_size = sizeof(CastAttrs),
     .infer = infer_cast, .gradient = gradient_cast, .identity = keeps_type},
    {.op = Op::cast_copy, .name = "cast_copy", .min_inputs = 1, .max_inputs = 1, .attrs_size = sizeof(CastAttrs),
     .earliest = Phase::update, .infer = infer_cast_copy},
    {.op = Op::image_normalize, .name = "image_normalize", .min_inputs = 1, .max_inputs = 1,
     .attrs_size = sizeof(ImageNormalizeAttrs), .infer = infer_normalize},
    {.op = Op::fill, .name = "fill", .attrs_size = sizeof(FillAttrs), .infer = infer_fill},
};

}  // namespace

std::span<const OpRule> cast_rules() { return kRules; }

}  // namespace convoy::ir
