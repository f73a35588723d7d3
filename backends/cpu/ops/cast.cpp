// cast, cast_copy, image_normalize and fill: own loops, row-major.
#include "lowering.hpp"

#include "kernels/flat.hpp"
#include "kernels/parallel.hpp"

#include <algorithm>

namespace convoy::cpu {

namespace {

/// Calls f with a null pointer of the type that stands for `t`. Errors: Refused, for 16-bit floats.
template <class F>
void typed(DType t, const F& f) {
  switch (t) {
    case DType::f32: return f(static_cast<float*>(nullptr));
    case DType::u8: return f(static_cast<uint8_t*>(nullptr));
    case DType::i32: return f(static_cast<int32_t*>(nullptr));
    case DType::i64: return f(static_cast<int64_t*>(nullptr));
    case DType::f16: case DType::bf16: break;
  }
  throw Refused("converts to or from 16-bit floats, which this backend does not compute with");
}

void cast(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const Value x = g.in(group.leader, 0), y = g.out(group.leader, 0);
  const int64_t n = g.elements(x);
  typed(g.tensor(x).dtype, [&](auto* from) {
    typed(g.tensor(y).dtype, [&](auto* to) {
      using From = std::remove_pointer_t<decltype(from)>;
      using To = std::remove_pointer_t<decltype(to)>;
      l.kernel("cast", {l.read(x), l.write(y)}, [n](const Operands& p) {
        parallel(n, kGrain, [&](int64_t begin, int64_t end) {
          const From* a = p.at<From>(0);
          To* b = p.at<To>(1);
          for (int64_t i = begin; i < end; ++i) b[i] = static_cast<To>(a[i]);
        });
      });
    });
  });
}

void normalize(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const auto attrs = g.attrs<ImageNormalizeAttrs>(group.leader);
  const Value x = g.in(group.leader, 0), y = g.out(group.leader, 0);
  const auto d = g.dims(x);
  if (d.size() != 4 || d[1] > 4) throw Refused("takes pictures of at most 4 channels");
  const bool bytes = g.tensor(x).dtype == DType::u8;
  if (!bytes) need_f32(g, x);
  const int64_t planes = d[0] * d[1], channels = d[1], area = d[2] * d[3];
  l.kernel("normalize", {l.read(x), l.write(y)}, [=](const Operands& p) {
    parallel_each(planes, [&](int64_t i) {
      const auto c = static_cast<std::size_t>(i % channels);
      float* to = p.at(1) + i * area;
      if (bytes)
        flat().normalize_u8(to, p.at<uint8_t>(0) + i * area, attrs.mean[c], attrs.stdev[c], area);
      else
        flat().normalize_f32(to, p.at(0) + i * area, attrs.mean[c], attrs.stdev[c], area);
    });
  });
}

/// A constant of the forward pass is written once, in refresh(); a boundary value each time, since others may write
/// there.
void fill(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const auto attrs = g.attrs<FillAttrs>(group.leader);
  const Value y = g.out(group.leader, 0);
  const int64_t n = g.elements(y);
  const When when = g.is_boundary(y) ? When::run : When::refresh;
  typed(attrs.dtype, [&](auto* to) {
    using To = std::remove_pointer_t<decltype(to)>;
    const To value = static_cast<To>(attrs.value);
    l.kernel("fill", {l.write(y)}, [=](const Operands& p) { std::fill_n(p.at<To>(0), n, value); }, when);
  });
  if (when == When::refresh) l.say("once");
}

const OpLowering kLowerings[] = {
    {Op::cast, cast}, {Op::cast_copy, cast}, {Op::image_normalize, normalize}, {Op::fill, fill}};

}  // namespace

std::span<const OpLowering> cast_lowerings() { return kLowerings; }

}  // namespace convoy::cpu
