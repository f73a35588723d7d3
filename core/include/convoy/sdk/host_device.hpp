// Level 0 of a device whose memory is the host's and whose work is done when a call returns: to inherit.
// Streams and events are trivial here; nothing is asynchronous. Kernels or a compiler are the heir's.
#pragma once

#include <convoy/sdk/plugin.hpp>
#include <convoy/sdk/vector_ops.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <unistd.h>

namespace convoy::sdk {

/// The processor's own name, or "CPU".
inline std::string cpu_name() {
  std::string name = "CPU";
  if (FILE* in = std::fopen("/proc/cpuinfo", "r")) {
    char line[512];
    while (std::fgets(line, sizeof line, in) != nullptr)
      if (std::strncmp(line, "model name", 10) == 0) {
        const char* colon = std::strchr(line, ':');
        if (colon != nullptr && colon[1] == ' ') name = std::string(colon + 2, std::strcspn(colon + 2, "\n"));
        break;
      }
    std::fclose(in);
  }
  return name;
}

/// Bytes of memory of this machine: all of it, and what is free now. 0 = unknown.
inline uint64_t host_bytes(bool free_only) {
  const long pages = sysconf(free_only ? _SC_AVPHYS_PAGES : _SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<uint64_t>(pages) * static_cast<uint64_t>(page) : 0;
}

/// `bytes` of host memory at a multiple of `align`, at least a cache line. Owns: the caller, std::free().
/// Errors: invalid alignment; out_of_memory, also for more than the machine has, which the system might promise.
inline void* host_alloc(uint64_t bytes, uint64_t align) {
  if (align == 0 || align > 4096 || (align & (align - 1)) != 0)
    throw Error(Code::invalid, "alignment " + std::to_string(align) + " is not a power of two up to 4096");
  const uint64_t unit = align < 64 ? 64 : align, all = host_bytes(false);
  if (bytes > (all != 0 ? all : UINT64_MAX / 2))
    throw Error(Code::out_of_memory, std::to_string(bytes) + " bytes of host memory asked for, the machine has " + std::to_string(all));
  void* p = std::aligned_alloc(unit, bytes == 0 ? unit : (bytes + unit - 1) / unit * unit);
  if (p == nullptr) throw Error(Code::out_of_memory, std::to_string(bytes) + " bytes of host memory are not to be had");
  return p;
}

/// Copies a record of the border into one that its reader may have made shorter (struct_size; 0 = as long as here).
template <class T>
void fill_record(T* out, T value) {
  const uint32_t room = out->struct_size != 0 && out->struct_size < sizeof(T) ? out->struct_size : sizeof(T);
  value.struct_size = room;
  std::memcpy(out, &value, room);
}

/// Threads: any. Override query() to offer more, and call this one last.
class HostDevice : public IDevice {
 public:
  explicit HostDevice(uint32_t ordinal = 0) : ordinal_(ordinal) {}
  virtual ~HostDevice() = default;

  void* query(const char* id) noexcept override {
    if (std::strcmp(id, IDevice::id) == 0) return static_cast<IDevice*>(this);
    return vector_.query(id);
  }
  void destroy() noexcept override { delete this; }

  /// f32 and the integers that feed it.
  Code info(DeviceInfo* out) noexcept override {
    return guard("info", [&] {
      auto i = sized<DeviceInfo>();
      i.ordinal = ordinal_;
      copy_text(i.name, cpu_name());
      i.total_bytes = host_bytes(false);
      i.free_bytes = host_bytes(true);
      for (DType t : {DType::f32, DType::u8, DType::i32, DType::i64}) i.dtypes |= 1u << static_cast<uint32_t>(t);
      i.mem_kinds = static_cast<uint32_t>(Mem::host);
      fill_record(out, i);
    });
  }

  Code alloc(uint64_t bytes, uint64_t align, Mem m, Buffer* out) noexcept override {
    return guard("alloc", [&] {
      if (m != Mem::host) throw Error(Code::unsupported, "this device has host memory only");
      *out = {host_alloc(bytes, align), bytes, 0, ordinal_, Mem::host};
    });
  }
  void free(const Buffer& b) noexcept override { std::free(b.ptr); }

  Code stream_new(int32_t, Stream* out) noexcept override {
    out->h = ++streams_;
    return Code::ok;
  }
  void stream_free(Stream) noexcept override {}
  Code event_new(uint32_t, Event* out) noexcept override {
    return guard("event_new", [&] { out->h = reinterpret_cast<uint64_t>(new Moment()); });
  }
  void event_free(Event e) noexcept override { delete moment(e); }
  Code record(Event e, Stream) noexcept override {
    moment(e)->at.store(std::chrono::steady_clock::now(), std::memory_order_relaxed);
    return Code::ok;
  }
  Code wait(Stream, Event) noexcept override { return Code::ok; }
  Code done(Event) noexcept override { return Code::ok; }
  Code sync(Event, uint32_t) noexcept override { return Code::ok; }
  Code elapsed_us(Event a, Event b, double* us) noexcept override {
    *us = std::chrono::duration<double, std::micro>(moment(b)->at.load() - moment(a)->at.load()).count();
    return Code::ok;
  }
  Code copy(Stream, const Buffer& dst, uint64_t dst_off, const Buffer& src, uint64_t src_off,
            uint64_t n) noexcept override {
    if (n > 0) std::memmove(static_cast<char*>(dst.ptr) + dst_off, static_cast<const char*>(src.ptr) + src_off, n);
    return Code::ok;
  }
  Code fill(Stream, const Buffer& dst, uint64_t off, uint64_t n, uint32_t byte) noexcept override {
    if (n > 0) std::memset(static_cast<char*>(dst.ptr) + off, static_cast<int>(byte), n);
    return Code::ok;
  }
  Code native(Stream, const char* tag, void**) noexcept override {
    return guard("native", [&] { throw Error(Code::unsupported, std::string("no handle of type ") + tag); });
  }

 protected:
  uint32_t ordinal() const { return ordinal_; }

 private:
  struct Moment {
    std::atomic<std::chrono::steady_clock::time_point> at{};
  };
  static Moment* moment(Event e) { return reinterpret_cast<Moment*>(e.h); }

  uint32_t ordinal_;
  std::atomic<uint64_t> streams_{0};
  HostVectorOps vector_;
};

}  // namespace convoy::sdk
