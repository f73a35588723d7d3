// cast, image_normalize and fill: values made or converted element by element.
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

#include <fmt/format.h>

namespace convoy::ir {

namespace {

void infer_cast(Inference& n) {
  const auto a = n.attrs<CastAttrs>();
  if (size_of(a.to) == 0) n.refuse(fmt::format("no type has the number {}", static_cast<uint32_t>(a.to)));
  n.give(a.to, n.in(0).dims);
}

void gradient_cast(Backward& b) {
  const CastAttrs back{sizeof(CastAttrs), b.tensor(b.in(0)).dtype};
  b.set(0, b.emit_one(Op::cast, {b.dy(0)}, pack(back), "grad"));
}

void infer_normalize(Inference& n) {
  n.need_rank(0, 4);
  const auto a = n.attrs<ImageNormalizeAttrs>();
  const int64_t channels = n.in(0).dims[1];
  if (channels > 4) n.refuse(fmt::format("{} channels; at most 4 are allowed", channels));
  for (int64_t c = 0; c < channels; ++c)
    if (!(a.stdev[c] > 0)) n.refuse(fmt::format("the deviation of channel {} is {}; it must be positive", c, a.stdev[c]));
  n.give(DType::f32, n.in(0).dims);
}

void infer_fill(Inference& n) {
  const auto a = n.attrs<FillAttrs>();
  if (a.rank > 6) n.refuse(fmt::format("{} dimensions; at most 6 are allowed", a.rank));
  if (size_of(a.dtype) == 0) n.refuse(fmt::format("no type has the number {}", static_cast<uint32_t>(a.dtype)));
  n.give(a.dtype, {a.dim, a.dim + a.rank});
}

const OpRule kRules[] = {
    {Op::cast, "cast", 1, 1, sizeof(CastAttrs), infer_cast, gradient_cast},
    {Op::cast_copy, "cast_copy", 1, 1, sizeof(CastAttrs), infer_cast},
    {Op::image_normalize, "image_normalize", 1, 1, sizeof(ImageNormalizeAttrs), infer_normalize},
    {Op::fill, "fill", 0, 0, sizeof(FillAttrs), infer_fill},
};

}  // namespace

std::span<const OpRule> cast_rules() { return kRules; }

}  // namespace convoy::ir
