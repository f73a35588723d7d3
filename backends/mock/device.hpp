// The fake device: level 0 and the facets kernels, capture and vector arithmetic, all asynchronous.
// Pretends to be an accelerator, so that missing waits and wrong addresses are found without one. Not fast.
#pragma once

#include "memory.hpp"
#include "stream.hpp"
#include "work.hpp"

#include <convoy/sdk/kernels.hpp>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace convoy::mock {

class MockDevice;

/// Kernels that are queued.
class MockKernels final : public sdk::TableKernels {
 public:
  explicit MockKernels(MockDevice& device);
  Code prepare(const GraphView& g, uint32_t node, uint64_t* workspace, uint64_t* kernel) noexcept override;
  Code launch(uint64_t kernel, Stream s, Span<const Binding> io, void* workspace) noexcept override;
  void release(uint64_t kernel) noexcept override;

 private:
  MockDevice& device_;
};

class MockVectorOps final : public IVectorOps {
 public:
  explicit MockVectorOps(MockDevice& device) : device_(device) {}
  void* query(const char* id) noexcept override;
  void destroy() noexcept override {}
  Code add(Stream s, const Buffer& dst, uint64_t dst_off, const Buffer& src, uint64_t src_off, uint64_t count,
           DType t) noexcept override;
  Code scale(Stream s, const Buffer& b, uint64_t off, uint64_t count, DType t, double k) noexcept override;
  Code cast(Stream s, const Buffer& dst, uint64_t dst_off, DType to, const Buffer& src, uint64_t src_off, DType from,
            uint64_t count) noexcept override;

 private:
  MockDevice& device_;
};

class MockCapture final : public ICapture {
 public:
  explicit MockCapture(MockDevice& device) : device_(device) {}
  void* query(const char* id) noexcept override;
  void destroy() noexcept override {}
  Code begin(Stream s) noexcept override;
  Code end(Stream s, uint64_t* graph) noexcept override;
  Code replay(uint64_t graph, Stream s) noexcept override;
  void drop(uint64_t graph) noexcept override;

 private:
  MockDevice& device_;
};

/// Threads: as IDevice. Streams that were not freed end with the device.
class MockDevice final : public IDevice {
 public:
  static constexpr const char* schema =
      "max_delay_us : int = 20 [0..1000000] # every work waits up to this long first, at random\n"
      "seed : int = 1 [0..] # of the delays\n"
      "memory_mib : int = 4096 [1..] # device memory\n"
      "fail_at : int = 0 [0..] # the work of this number fails; 0 = none";

  explicit MockDevice(const Options& o);

  void* query(const char* id) noexcept override;
  void destroy() noexcept override { delete this; }
  Code info(DeviceInfo* out) noexcept override;
  Code alloc(uint64_t bytes, uint64_t align, Mem m, Buffer* out) noexcept override;
  void free(const Buffer& b) noexcept override;
  Code stream_new(int32_t priority, Stream* out) noexcept override;
  void stream_free(Stream s) noexcept override;
  Code event_new(uint32_t timing, Event* out) noexcept override;
  void event_free(Event e) noexcept override;
  Code record(Event e, Stream s) noexcept override;
  Code wait(Stream s, Event e) noexcept override;
  Code done(Event e) noexcept override;
  Code sync(Event e, uint32_t timeout_ms) noexcept override;
  Code elapsed_us(Event a, Event b, double* us) noexcept override;
  Code copy(Stream s, const Buffer& dst, uint64_t dst_off, const Buffer& src, uint64_t src_off,
            uint64_t n) noexcept override;
  Code fill(Stream s, const Buffer& dst, uint64_t off, uint64_t n, uint32_t byte) noexcept override;
  Code native(Stream s, const char* tag, void** out) noexcept override;

  /// Queues the work, or adds it to the capture that the stream takes part in.
  void issue(Stream s, Work w);
  static MockStream& stream(Stream s) { return *reinterpret_cast<MockStream*>(s.h); }
  static const std::shared_ptr<EventState>& event(Event e) {
    return *reinterpret_cast<std::shared_ptr<EventState>*>(e.h);
  }

 private:
  const uint32_t ordinal_;
  Memory memory_;
  Worker worker_;
  std::mutex mutex_;  // of streams_
  std::map<uint64_t, std::unique_ptr<MockStream>> streams_;
  uint64_t streams_made_ = 0;
  MockKernels kernels_{*this};
  MockVectorOps vector_{*this};
  MockCapture capture_{*this};
};

}  // namespace convoy::mock
