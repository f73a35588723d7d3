// A device in front of another that can be told to refuse memory: a step must not ask for any.
// Facets are the inner device's own.
#pragma once

#include "owned.hpp"

#include <convoy/sdk/plugin.hpp>

#include <atomic>
#include <cstring>
#include <utility>

namespace convoy::contract {

class WatchedDevice final : public IDevice {
 public:
  explicit WatchedDevice(IDevice& inner, IHost& host) : inner_(inner), host_(host) {}

  void refuse(bool yes) { refusing_ = yes; }
  int refused() const { return refused_; }

  void* query(const char* id) noexcept override {
    return std::strcmp(id, IDevice::id) == 0 ? static_cast<IDevice*>(this) : inner_.query(id);
  }
  void destroy() noexcept override {}  // the test's
  Code info(DeviceInfo* out) noexcept override { return inner_.info(out); }
  Code alloc(uint64_t bytes, uint64_t align, Mem m, Buffer* out) noexcept override {
    if (!refusing_) return inner_.alloc(bytes, align, m, out);
    ++refused_;
    return host_.fail(Code::out_of_memory, sdk::str("alloc"), sdk::str("refused by the test"));
  }
  void free(const Buffer& b) noexcept override { inner_.free(b); }
  Code stream_new(int32_t priority, Stream* out) noexcept override { return inner_.stream_new(priority, out); }
  void stream_free(Stream s) noexcept override { inner_.stream_free(s); }
  Code event_new(uint32_t timing, Event* out) noexcept override { return inner_.event_new(timing, out); }
  void event_free(Event e) noexcept override { inner_.event_free(e); }
  Code record(Event e, Stream s) noexcept override { return inner_.record(e, s); }
  Code wait(Stream s, Event e) noexcept override { return inner_.wait(s, e); }
  Code done(Event e) noexcept override { return inner_.done(e); }
  Code sync(Event e, uint32_t timeout_ms) noexcept override { return inner_.sync(e, timeout_ms); }
  Code elapsed_us(Event a, Event b, double* us) noexcept override { return inner_.elapsed_us(a, b, us); }
  Code copy(Stream s, const Buffer& dst, uint64_t dst_off, const Buffer& src, uint64_t src_off,
            uint64_t n) noexcept override {
    return inner_.copy(s, dst, dst_off, src, src_off, n);
  }
  Code fill(Stream s, const Buffer& dst, uint64_t off, uint64_t n, uint32_t byte) noexcept override {
    return inner_.fill(s, dst, off, n, byte);
  }
  Code native(Stream s, const char* tag, void** out) noexcept override { return inner_.native(s, tag, out); }

 private:
  IDevice& inner_;
  IHost& host_;
  std::atomic<bool> refusing_{false};
  std::atomic<int> refused_{0};
};

}  // namespace convoy::contract
