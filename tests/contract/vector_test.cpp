// Arithmetic on raw buffers, where a device offers it.
#include "devices.hpp"

#include <convoy/sdk/narrow.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace convoy::contract {

namespace {

constexpr uint32_t kTimeoutMs = 30'000;

IVectorOps* vector_of(const exec::Device& d) { return static_cast<IVectorOps*>(d.raw().query(IVectorOps::id)); }

/// Device memory that a test fills and reads as typed elements.
template <class T>
class Array {
 public:
  Array(const exec::Device& d, Stream s, const std::vector<T>& values)
      : device_(d), stream_(s), memory_(d, values.size() * sizeof(T), d.compute_memory(), "array"), n_(values.size()) {
    d.raw().copy(s, memory_.get(), 0, exec::host_view(values.data(), bytes()), 0, bytes());
    wait();
  }
  const Buffer& get() const { return memory_.get(); }
  std::vector<T> read() const {
    std::vector<T> out(n_);
    device_.raw().copy(stream_, exec::host_view(out.data(), bytes()), 0, memory_.get(), 0, bytes());
    wait();
    return out;
  }

 private:
  uint64_t bytes() const { return n_ * sizeof(T); }
  void wait() const {
    exec::DeviceEvent e(device_);
    e.record(stream_);
    e.sync(kTimeoutMs);
  }
  const exec::Device& device_;
  Stream stream_;
  exec::DeviceBuffer memory_;
  std::size_t n_;
};

std::vector<float> ramp(std::size_t n, float step) {
  std::vector<float> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<float>(i) * step - 3;
  return out;
}

}  // namespace

TEST_SUITE("contract: vector") {
  TEST_CASE("add and scale touch exactly their elements") {
    for (const auto& name : device_names()) {
      const auto d = open_device(name);
      IVectorOps* ops = vector_of(*d);
      if (ops == nullptr) continue;
      const exec::DeviceStream s(*d);
      for (uint64_t count : {0, 1, 3, 17, 1000}) {
        INFO(name << ", " << count << " elements");
        auto a = ramp(1100, 0.5f);
        const auto b = ramp(1100, 0.25f);
        const Array<float> da(*d, s.get(), a), db(*d, s.get(), b);
        REQUIRE(ops->add(s.get(), da.get(), 12, db.get(), 20, count, DType::f32) == Code::ok);
        REQUIRE(ops->scale(s.get(), da.get(), 8, count, DType::f32, 0.5) == Code::ok);
        for (uint64_t i = 0; i < count; ++i) a[3 + i] += b[5 + i];
        for (uint64_t i = 0; i < count; ++i) a[2 + i] *= 0.5f;
        CHECK(da.read() == a);
      }
    }
  }

  TEST_CASE("casts to 16 bits and back round to nearest") {
    const std::vector<float> values{0, 1, -2.5f, 0.1f, 65504, 1e-5f, 3.14159f, -1e4f, 1.0009765625f};
    for (const auto& name : device_names()) {
      const auto d = open_device(name);
      IVectorOps* ops = vector_of(*d);
      if (ops == nullptr) continue;
      const exec::DeviceStream s(*d);
      for (const DType t : {DType::f16, DType::bf16}) {
        const Array<float> wide(*d, s.get(), values), back(*d, s.get(), std::vector<float>(values.size()));
        const Array<uint16_t> narrow(*d, s.get(), std::vector<uint16_t>(values.size()));
        host().take_message();
        if (ops->cast(s.get(), narrow.get(), 0, t, wide.get(), 0, DType::f32, values.size()) == Code::unsupported) {
          CHECK_MESSAGE(!host().take_message().empty(), name);
          continue;
        }
        REQUIRE(ops->cast(s.get(), back.get(), 0, DType::f32, narrow.get(), 0, t, values.size()) == Code::ok);
        std::vector<uint16_t> bits;
        std::vector<float> rounded;
        for (float v : values) {
          bits.push_back(t == DType::f16 ? sdk::f32_to_f16(v) : sdk::f32_to_bf16(v));
          rounded.push_back(t == DType::f16 ? sdk::f16_to_f32(bits.back()) : sdk::bf16_to_f32(bits.back()));
        }
        CHECK_MESSAGE(narrow.read() == bits, name);
        CHECK_MESSAGE(back.read() == rounded, name);
      }
    }
  }

  TEST_CASE("arithmetic on integers is refused with a message") {
    for (const auto& name : device_names()) {
      const auto d = open_device(name);
      IVectorOps* ops = vector_of(*d);
      if (ops == nullptr) continue;
      const exec::DeviceStream s(*d);
      const Array<int32_t> a(*d, s.get(), {1, 2, 3});
      host().take_message();
      if (ops->add(s.get(), a.get(), 0, a.get(), 0, 3, DType::i32) == Code::ok) continue;  // a device may offer more
      CHECK_MESSAGE(!host().take_message().empty(), name);
    }
  }
}

}  // namespace convoy::contract
