// The facet convoy.vector.1 on device memory: sums, products and changes of type for rings, servers and wire types.
#pragma once

#include <convoy/sdk/plugin.hpp>

namespace convoy::cuda {

/// A part of its device. f32, f16 and bf16.
class DeviceVectorOps final : public IVectorOps {
 public:
  explicit DeviceVectorOps(uint32_t ordinal) : ordinal_(ordinal) {}

  void* query(const char* id) noexcept override;
  void destroy() noexcept override {}

  Code add(Stream s, const Buffer& dst, uint64_t dst_off, const Buffer& src, uint64_t src_off, uint64_t count, DType t) noexcept override;
  Code scale(Stream s, const Buffer& b, uint64_t off, uint64_t count, DType t, double k) noexcept override;
  Code cast(Stream s, const Buffer& dst, uint64_t dst_off, DType to, const Buffer& src, uint64_t src_off, DType from,
            uint64_t count) noexcept override;

 private:
  template <class F>
  Code on_device(const char* where, F&& body) noexcept;

  uint32_t ordinal_;
};

}  // namespace convoy::cuda
