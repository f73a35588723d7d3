#include "form.hpp"

#include "plan.hpp"

namespace convoy::cuda {

Type type_of(DType t) {
  switch (t) {
    case DType::f32: return Type::f32;
    case DType::f16: return Type::f16;
    case DType::bf16: return Type::bf16;
    case DType::u8: return Type::u8;
    case DType::i32: return Type::i32;
    case DType::i64: return Type::i64;
  }
  throw Refused("has a value of a type that this backend does not know");
}

Extent::Extent(const TensorDesc& t) {
  if (t.rank == 0) return;
  n = t.dim[0];
  if (t.rank == 4) {
    c = t.dim[1];
    area = t.dim[2] * t.dim[3];
  } else {
    for (uint32_t i = 1; i < t.rank; ++i) c *= t.dim[i];
  }
}

Form plain(Type type) { return {type, false, 0}; }
Form plain(const TensorDesc& t) { return plain(type_of(t.dtype)); }

Form packed(const TensorDesc& t, Type type) { return t.rank == 4 ? Form{type, true, t.dim[1]} : plain(type); }

Form home_form(const TensorDesc& t) {
  const bool kept = t.role == Role::param || t.role == Role::grad || t.role == Role::state || t.role == Role::frozen;
  return kept ? packed(t, type_of(t.dtype)) : plain(t);
}

uint64_t bytes_in(const TensorDesc& t, const Form& f) {
  const Extent e(t);
  return static_cast<uint64_t>(e.rows() * (f.channels_last ? f.channels : e.c)) * bytes_of(f.type);
}

bool same_memory(const TensorDesc& t, const Form& a, const Form& b) {
  if (a == b) return true;
  const Extent e(t);
  const auto channels = [&](const Form& f) { return f.channels_last ? f.channels : e.c; };
  const bool order_matters = e.area > 1 && e.c > 1;
  return a.type == b.type && channels(a) == channels(b) && (a.channels_last == b.channels_last || !order_matters);
}

std::string text_of(const TensorDesc& t, const Form& f) {
  const std::string order = !f.channels_last ? "nchw" : f.channels == t.dim[1] ? "nhwc" : "nhwc" + std::to_string(f.channels);
  return order + " " + name_of(f.type);
}

cudaError_t convert(const TensorDesc& t, const void* from, const Form& from_form, void* to, const Form& to_form, cudaStream_t s) {
  const Extent e(t);
  const auto channels = [&](const Form& f) { return f.channels_last ? f.channels : e.c; };
  const bool reorder = from_form.channels_last != to_form.channels_last && e.area > 1 && e.c > 1;
  if (!reorder && channels(from_form) == channels(to_form)) {
    CastArgs a;
    a.x = from, a.x_type = from_form.type, a.y = to, a.y_type = to_form.type;
    a.count = e.rows() * channels(from_form);
    return cast(a, s);
  }
  // Between two orders of channels last a pixel is a sample without area: only the padding changes.
  TransposeArgs a;
  a.x = from, a.x_type = from_form.type, a.y = to, a.y_type = to_form.type;
  a.c = e.c;
  a.n = reorder ? e.n : e.rows();
  a.area = reorder ? e.area : 1;
  if (channels(from_form) > e.c) {
    a.ld = channels(from_form);
    return nhwc_to_nchw(a, s);
  }
  if (reorder && from_form.channels_last) return nhwc_to_nchw(a, s);
  a.c_padded = channels(to_form);
  return nchw_to_nhwc(a, s);
}

}  // namespace convoy::cuda
