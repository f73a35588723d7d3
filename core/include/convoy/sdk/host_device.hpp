// Level 0 of a device whose memory is the host's and whose work is done when a call returns: to inherit.
// Streams and events are trivial here; nothing is asynchronous. Kernels or a compiler are the heir's.
#pragma once

#include <convoy/sdk/plugin.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

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
        if (colon != nullptr) name = std::string(colon + 2, std::strcspn(colon + 2, "\n"));
        break;
      }
    std::fclose(in);
  }
  return name;
}

/// Facet convoy.vector.1 over host memory.
class HostVectorOps : public IVectorOps {
 public:
  Code add(Stream, const Buffer& dst, uint64_t dst_off, const Buffer& src, uint64_t src_off, uint64_t count,
           DType t) noexcept override {
    return guard("add", [&] {
      need_f32(t);
      float* d = at(dst, dst_off);
      const float* s = at(src, src_off);
      for (uint64_t i = 0; i < count; ++i) d[i] += s[i];
    });
  }
  Code scale(Stream, const Buffer& b, uint64_t off, uint64_t count, DType t, double k) noexcept override {
    return guard("scale", [&] {
      need_f32(t);
      float* d = at(b, off);
      for (uint64_t i = 0; i < count; ++i) d[i] = static_cast<float>(d[i] * k);
    });
  }
  Code cast(Stream, const Buffer& dst, uint64_t dst_off, DType to, const Buffer& src, uint64_t src_off, DType from,
            uint64_t count) noexcept override {
    return guard("cast", [&] {
      need_f32(to);
      need_f32(from);
      std::memmove(at(dst, dst_off), at(src, src_off), count * sizeof(float));
    });
  }
  void* query(const char* id) noexcept override {
    return std::strcmp(id, IVectorOps::id) == 0 ? static_cast<IVectorOps*>(this) : nullptr;
  }
  void destroy() noexcept override {}  // a part of its device

 private:
  static void need_f32(DType t) {
    if (t != DType::f32) throw Error(Code::unsupported, "only f32");
  }
  static float* at(const Buffer& b, uint64_t off) { return reinterpret_cast<float*>(static_cast<char*>(b.ptr) + off); }
};

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

  Code info(DeviceInfo* out) noexcept override {
    return guard("info", [&] {
      DeviceInfo i{};
      i.struct_size = sizeof i;
      i.ordinal = ordinal_;
      copy_text(i.name, cpu_name());
      const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
      i.total_bytes = static_cast<uint64_t>(sysconf(_SC_PHYS_PAGES)) * page;
      i.free_bytes = static_cast<uint64_t>(sysconf(_SC_AVPHYS_PAGES)) * page;
      i.dtypes = 1u << static_cast<uint32_t>(DType::f32);
      i.mem_kinds = static_cast<uint32_t>(Mem::host);
      const uint64_t room = out->struct_size != 0 ? out->struct_size : sizeof i;
      std::memcpy(out, &i, room < sizeof i ? room : sizeof i);
    });
  }

  Code alloc(uint64_t bytes, uint64_t align, Mem m, Buffer* out) noexcept override {
    return guard("alloc", [&] {
      if (m != Mem::host) throw Error(Code::unsupported, "this device has host memory only");
      if (align == 0 || align > 4096 || (align & (align - 1)) != 0)
        throw Error(Code::invalid, "alignment " + std::to_string(align) + " is no power of two up to 4096");
      const uint64_t unit = align < 64 ? 64 : align;  // a cache line at least
      if (bytes > UINT64_MAX - unit) throw Error(Code::out_of_memory, "no machine has that much memory");
      const uint64_t size = bytes == 0 ? unit : (bytes + unit - 1) / unit * unit;
      void* p = std::aligned_alloc(unit, size);
      if (p == nullptr) throw Error(Code::out_of_memory, std::to_string(bytes) + " bytes of host memory are not to be had");
      *out = {p, bytes, 0, ordinal_, Mem::host};
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
    moment(e)->at = std::chrono::steady_clock::now();
    return Code::ok;
  }
  Code wait(Stream, Event) noexcept override { return Code::ok; }
  Code done(Event) noexcept override { return Code::ok; }
  Code sync(Event, uint32_t) noexcept override { return Code::ok; }
  Code elapsed_us(Event a, Event b, double* us) noexcept override {
    *us = std::chrono::duration<double, std::micro>(moment(b)->at - moment(a)->at).count();
    return Code::ok;
  }
  Code copy(Stream, const Buffer& dst, uint64_t dst_off, const Buffer& src, uint64_t src_off,
            uint64_t n) noexcept override {
    std::memmove(static_cast<char*>(dst.ptr) + dst_off, static_cast<const char*>(src.ptr) + src_off, n);
    return Code::ok;
  }
  Code fill(Stream, const Buffer& dst, uint64_t off, uint64_t n, uint32_t byte) noexcept override {
    std::memset(static_cast<char*>(dst.ptr) + off, static_cast<int>(byte), n);
    return Code::ok;
  }
  Code native(Stream, const char* tag, void**) noexcept override {
    return host().fail(Code::unsupported, str("native"), str(std::string("no handle of type ") + tag));
  }

 private:
  struct Moment {
    std::chrono::steady_clock::time_point at;
  };
  static Moment* moment(Event e) { return reinterpret_cast<Moment*>(e.h); }

  uint32_t ordinal_;
  std::atomic<uint64_t> streams_{0};
  HostVectorOps vector_;
};

}  // namespace convoy::sdk
