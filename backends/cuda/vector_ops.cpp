#include "vector_ops.hpp"

#include "cuda_error.hpp"
#include "event.hpp"
#include "form.hpp"

#include <convoy/sdk/catalogue.hpp>

#include <cstring>

namespace convoy::cuda {

namespace {

Type float_type(DType t) {
  if (t == DType::f32 || t == DType::f16 || t == DType::bf16) return type_of(t);
  throw sdk::Error(Code::unsupported, std::string("vector arithmetic on ") + sdk::dtype_name(t) + "; f32, f16 and bf16 exist");
}

void* at(const Buffer& b, uint64_t off) { return static_cast<char*>(b.ptr) + off; }

}  // namespace

void* DeviceVectorOps::query(const char* id) noexcept {
  return std::strcmp(id, IVectorOps::id) == 0 ? static_cast<IVectorOps*>(this) : nullptr;
}

template <class F>
Code DeviceVectorOps::on_device(const char* where, F&& body) noexcept {
  return sdk::guard(where, [&] {
    check(cudaSetDevice(static_cast<int>(ordinal_)), "choose a device");
    body();
  });
}

Code DeviceVectorOps::add(Stream s, const Buffer& dst, uint64_t dst_off, const Buffer& src, uint64_t src_off, uint64_t count, DType t) noexcept {
  return on_device("add", [&] {
    AddArgs a;
    a.a = {at(dst, dst_off), 0}, a.b = {at(src, src_off), 0}, a.y = {at(dst, dst_off), 0};
    a.type = float_type(t), a.rows = 1, a.c = static_cast<int64_t>(count);
    check(cuda::add(a, native(s)), "add vectors");
  });
}

Code DeviceVectorOps::scale(Stream s, const Buffer& b, uint64_t off, uint64_t count, DType t, double k) noexcept {
  return on_device("scale", [&] {
    WeightedSumArgs a;
    a.n = 1, a.weight[0] = static_cast<float>(k), a.x[0] = {at(b, off), 0}, a.y = {at(b, off), 0};
    a.type = float_type(t), a.rows = 1, a.c = static_cast<int64_t>(count);
    check(weighted_sum(a, native(s)), "scale a vector");
  });
}

Code DeviceVectorOps::cast(Stream s, const Buffer& dst, uint64_t dst_off, DType to, const Buffer& src, uint64_t src_off, DType from,
                           uint64_t count) noexcept {
  return on_device("cast", [&] {
    CastArgs a;
    a.x = at(src, src_off), a.x_type = float_type(from), a.y = at(dst, dst_off), a.y_type = float_type(to);
    a.count = static_cast<int64_t>(count);
    check(cuda::cast(a, native(s)), "change the type of a vector");
  });
}

}  // namespace convoy::cuda
