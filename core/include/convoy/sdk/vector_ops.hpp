// Arithmetic on raw host memory, for rings, servers and wire types: functions, and the facet convoy.vector.1 on them.
// Plain loops, one thread. f32, f16 and bf16; 16-bit types are computed in f32 and rounded once.
#pragma once

#include <convoy/sdk/catalogue.hpp>
#include <convoy/sdk/narrow.hpp>
#include <convoy/sdk/plugin.hpp>

#include <cstdint>
#include <cstring>
#include <string>

namespace convoy::sdk {

/// An element type as memory and as f32.
struct F32Memory {
  using Stored = float;
  static float load(float v) { return v; }
  static float store(float v) { return v; }
};
struct F16Memory {
  using Stored = uint16_t;
  static float load(uint16_t v) { return f16_to_f32(v); }
  static uint16_t store(float v) { return f32_to_f16(v); }
};
struct Bf16Memory {
  using Stored = uint16_t;
  static float load(uint16_t v) { return bf16_to_f32(v); }
  static uint16_t store(float v) { return f32_to_bf16(v); }
};

/// Calls f with the memory form of `t`. Errors: unsupported for integers.
template <class F>
void with_float_type(DType t, F f) {
  switch (t) {
    case DType::f32: return f(F32Memory{});
    case DType::f16: return f(F16Memory{});
    case DType::bf16: return f(Bf16Memory{});
    default: throw Error(Code::unsupported, std::string("vector arithmetic on ") + dtype_name(t) + "; f32, f16 and bf16 exist");
  }
}

/// dst[i] += src[i].
inline void vector_add(void* dst, const void* src, uint64_t count, DType t) {
  with_float_type(t, [&](auto type) {
    using T = decltype(type);
    auto* d = static_cast<typename T::Stored*>(dst);
    const auto* s = static_cast<const typename T::Stored*>(src);
    for (uint64_t i = 0; i < count; ++i) d[i] = T::store(T::load(d[i]) + T::load(s[i]));
  });
}

/// data[i] *= k, the product rounded once.
inline void vector_scale(void* data, uint64_t count, DType t, double k) {
  with_float_type(t, [&](auto type) {
    using T = decltype(type);
    auto* d = static_cast<typename T::Stored*>(data);
    for (uint64_t i = 0; i < count; ++i) d[i] = T::store(static_cast<float>(static_cast<double>(T::load(d[i])) * k));
  });
}

/// dst[i] = src[i] in another type. Memory must not overlap.
inline void vector_cast(void* dst, DType to, const void* src, DType from, uint64_t count) {
  with_float_type(to, [&](auto out) {
    with_float_type(from, [&](auto in) {
      using Out = decltype(out);
      using In = decltype(in);
      auto* d = static_cast<typename Out::Stored*>(dst);
      const auto* s = static_cast<const typename In::Stored*>(src);
      for (uint64_t i = 0; i < count; ++i) d[i] = Out::store(In::load(s[i]));
    });
  });
}

/// The facet for devices whose streams do their work at once. A part of its device.
class HostVectorOps final : public IVectorOps {
 public:
  void* query(const char* id) noexcept override {
    return std::strcmp(id, IVectorOps::id) == 0 ? static_cast<IVectorOps*>(this) : nullptr;
  }
  void destroy() noexcept override {}

  Code add(Stream, const Buffer& dst, uint64_t dst_off, const Buffer& src, uint64_t src_off, uint64_t count,
           DType t) noexcept override {
    return guard("add", [&] { vector_add(at(dst, dst_off), at(src, src_off), count, t); });
  }
  Code scale(Stream, const Buffer& b, uint64_t off, uint64_t count, DType t, double k) noexcept override {
    return guard("scale", [&] { vector_scale(at(b, off), count, t, k); });
  }
  Code cast(Stream, const Buffer& dst, uint64_t dst_off, DType to, const Buffer& src, uint64_t src_off, DType from,
            uint64_t count) noexcept override {
    return guard("cast", [&] { vector_cast(at(dst, dst_off), to, at(src, src_off), from, count); });
  }

 private:
  static void* at(const Buffer& b, uint64_t off) { return static_cast<char*>(b.ptr) + off; }
};

}  // namespace convoy::sdk
