// Element by element: cast and cast_copy change the type as C++ does (floats to integers towards zero),
// image_normalize gives (x - mean[c]) / stdev[c], fill a constant.
#include "kernels.hpp"

#include <algorithm>

namespace convoy::reference {

namespace {

/// Calls f with a typed pointer to the memory of `t`.
template <class F>
void typed(const void* p, DType t, F f) {
  switch (t) {
    case DType::f32: return f(static_cast<const Scalar*>(p));
    case DType::u8: return f(static_cast<const uint8_t*>(p));
    case DType::i32: return f(static_cast<const int32_t*>(p));
    case DType::i64: return f(static_cast<const int64_t*>(p));
    default: return;  // refused before
  }
}

template <class To>
void convert_to(const KernelArgs& a) {
  typed(a.in<void>(0), a.node.in[0].dtype, [&](const auto* x) {
    const int64_t n = a.node.in[0].elements();
    for (int64_t i = 0; i < n; ++i) a.out<To>(0)[i] = static_cast<To>(x[i]);
  });
}

void cast(const KernelArgs& a) {
  switch (a.node.attrs<CastAttrs>().to) {
    case DType::f32: return convert_to<Scalar>(a);
    case DType::u8: return convert_to<uint8_t>(a);
    case DType::i32: return convert_to<int32_t>(a);
    case DType::i64: return convert_to<int64_t>(a);
    default: return;
  }
}

void normalize(const KernelArgs& a) {
  const auto attrs = a.node.attrs<ImageNormalizeAttrs>();
  const auto& d = a.node.in[0].dims;
  const int64_t area = d[2] * d[3];
  typed(a.in<void>(0), a.node.in[0].dtype, [&](const auto* x) {
    const int64_t n = a.node.in[0].elements();
    for (int64_t i = 0; i < n; ++i) {
      const int64_t c = i / area % d[1];
      a.out<Scalar>(0)[i] = static_cast<Scalar>((static_cast<double>(x[i]) - static_cast<double>(attrs.mean[c])) /
                                                static_cast<double>(attrs.stdev[c]));
    }
  });
}

void fill(const KernelArgs& a) {
  const auto attrs = a.node.attrs<FillAttrs>();
  const int64_t n = a.node.out[0].elements();
  switch (attrs.dtype) {
    case DType::f32: std::fill_n(a.out<Scalar>(0), n, static_cast<Scalar>(attrs.value)); break;
    case DType::u8: std::fill_n(a.out<uint8_t>(0), n, static_cast<uint8_t>(attrs.value)); break;
    case DType::i32: std::fill_n(a.out<int32_t>(0), n, static_cast<int32_t>(attrs.value)); break;
    case DType::i64: std::fill_n(a.out<int64_t>(0), n, static_cast<int64_t>(attrs.value)); break;
    default: break;
  }
}

/// Images of u8 or f32; what comes out is f32.
std::string refuse_normalize(const NodeView& n) {
  if (!n.in.empty() && n.in[0].dtype == DType::u8) return f32_but(n, {{false, 0, DType::u8}});
  return sdk::f32_only(n);
}

}  // namespace

sdk::KernelTable cast_kernels() {
  return {{Op::cast, cast, no_16_bit},
          {Op::cast_copy, cast, no_16_bit},
          {Op::image_normalize, normalize, refuse_normalize},
          {Op::fill, fill, no_16_bit}};
}

}  // namespace convoy::reference
