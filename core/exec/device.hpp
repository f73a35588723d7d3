// A device as the core holds it: the plugin's object, its facets, and RAII for what it hands out.
// Knows no kind of device. Errors of the plugin become convoy::Error with its own words.
#pragma once

#include "owned.hpp"
#include "plugin/host.hpp"

#include <convoy/abi.hpp>
#include <convoy/sdk/plugin.hpp>

#include <cstdint>
#include <string>
#include <utility>

namespace convoy::exec {

/// Owns: the plugin's device. Must outlive every buffer, stream, event and executable made from it.
/// Threads: as IDevice.
class Device {
 public:
  Device(Owned<IDevice> device, std::string name, plugin::Host& host);

  IDevice& raw() const { return *device_; }
  const std::string& name() const { return name_; }
  const DeviceInfo& info() const { return info_; }
  IKernels* kernels() const { return kernels_; }    // null where it has none
  ICompiler* compiler() const { return compiler_; }  // null where it has none
  plugin::Host& host() const { return host_; }

  /// Throws where a call into the device failed; `what` says what was being done.
  void check(Code c, const std::string& what) const { host_.check(c, name_, what); }
  /// The kind of memory that steps compute in, and the one that host batches are staged in.
  Mem compute_memory() const;
  Mem staging_memory() const;

 private:
  Owned<IDevice> device_;
  std::string name_;
  plugin::Host& host_;
  DeviceInfo info_{};
  IKernels* kernels_;
  ICompiler* compiler_;
};

/// Memory of a device, freed with the object. Movable. An empty one holds nothing.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(const Device& device, uint64_t bytes, Mem mem, const std::string& what, uint64_t align = 4096);
  DeviceBuffer(DeviceBuffer&& o) noexcept
      : device_(std::exchange(o.device_, nullptr)), buffer_(std::exchange(o.buffer_, Buffer{})) {}
  DeviceBuffer& operator=(DeviceBuffer&& o) noexcept {
    std::swap(device_, o.device_);
    std::swap(buffer_, o.buffer_);
    return *this;
  }
  ~DeviceBuffer() {
    if (device_ != nullptr) device_->raw().free(buffer_);
  }

  const Buffer& get() const { return buffer_; }
  void* ptr() const { return buffer_.ptr; }

 private:
  const Device* device_ = nullptr;
  Buffer buffer_{};
};

class DeviceStream {
 public:
  explicit DeviceStream(const Device& device) : device_(device) {
    device.check(device.raw().stream_new(0, &stream_), "create a stream");
  }
  DeviceStream(const DeviceStream&) = delete;
  DeviceStream& operator=(const DeviceStream&) = delete;
  ~DeviceStream() { device_.raw().stream_free(stream_); }
  Stream get() const { return stream_; }

 private:
  const Device& device_;
  Stream stream_{};
};

class DeviceEvent {
 public:
  explicit DeviceEvent(const Device& device, bool timing = false) : device_(device) {
    device.check(device.raw().event_new(timing ? 1 : 0, &event_), "create an event");
  }
  DeviceEvent(const DeviceEvent&) = delete;
  DeviceEvent& operator=(const DeviceEvent&) = delete;
  ~DeviceEvent() { device_.raw().event_free(event_); }

  Event get() const { return event_; }
  void record(Stream s) { device_.check(device_.raw().record(event_, s), "record an event"); }
  /// Waits on the host. Errors: those of the work before it; a time-out.
  void sync(uint32_t timeout_ms) {
    device_.check(device_.raw().sync(event_, timeout_ms), "wait for the device");
  }

 private:
  const Device& device_;
  Event event_{};
};

/// Host memory of the caller as a Buffer that copy() takes.
inline Buffer host_view(const void* p, uint64_t bytes) {
  return {const_cast<void*>(p), bytes, 0, 0, Mem::host};
}

}  // namespace convoy::exec
