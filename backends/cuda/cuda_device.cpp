// The device `cuda`: memory, streams and events of one NVIDIA GPU, and a compiler of whole graphs.
// No kernels for single nodes: what it computes, it computes compiled.
#include "capture.hpp"
#include "compiler.hpp"
#include "cuda_error.hpp"
#include "event.hpp"
#include "memory.hpp"
#include "probe.hpp"
#include "settings.hpp"
#include "vector_ops.hpp"

#include <convoy/sdk/host_device.hpp>

#include <chrono>
#include <cstring>
#include <thread>

namespace convoy::cuda {

namespace {

using Clock = std::chrono::steady_clock;

// Waits spin at first: a batch of one takes a fraction of this, and to sleep costs some 50 us.
constexpr auto kSpin = std::chrono::milliseconds(2);
constexpr auto kNap = std::chrono::microseconds(50);

std::string uuid_text(const cudaUUID_t& u) {
  static const char* digits = "0123456789abcdef";
  std::string out = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    const auto byte = static_cast<unsigned char>(u.bytes[i]);
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out.substr(0, 39);
}

}  // namespace

/// Threads: any; every call makes its device the calling thread's.
class CudaDevice final : public IDevice, public ICapture, public ICompiler {
 public:
  static constexpr const char* schema = kSchema;
  static void probe(ProbeResult& r) { cuda::probe(r); }

  explicit CudaDevice(const Options& o) : settings_(read_settings(o)), vector_(settings_.ordinal) {
    ProbeResult found{};
    cuda::probe(found);
    if (found.score == 0) throw sdk::Error(Code::device, found.reason);
    if (settings_.ordinal >= found.n_devices)
      throw sdk::Error(Code::invalid, "device " + std::to_string(settings_.ordinal) + " does not exist; there are " + std::to_string(found.n_devices));
    use();
    check(cudaFree(nullptr), "open the device");
  }
  virtual ~CudaDevice() = default;

  void* query(const char* id) noexcept override {
    if (std::strcmp(id, IDevice::id) == 0) return static_cast<IDevice*>(this);
    if (std::strcmp(id, ICapture::id) == 0) return static_cast<ICapture*>(this);
    if (std::strcmp(id, ICompiler::id) == 0) return static_cast<ICompiler*>(this);
    return vector_.query(id);
  }
  void destroy() noexcept override { delete this; }

  // ---- level 0 -------------------------------------------------------------------------------------------------
  Code info(DeviceInfo* out) noexcept override {
    return run("info", [&] {
      cudaDeviceProp p{};
      check(cudaGetDeviceProperties(&p, static_cast<int>(settings_.ordinal)), "describe the device");
      std::size_t available = 0, total = 0;
      check(cudaMemGetInfo(&available, &total), "ask for free memory");
      auto i = sdk::sized<DeviceInfo>();
      i.ordinal = settings_.ordinal;
      sdk::copy_text(i.name, p.name);
      sdk::copy_text(i.uuid, uuid_text(p.uuid));
      i.total_bytes = total;
      i.free_bytes = available;
      for (DType t : {DType::f32, DType::f16, DType::bf16, DType::u8, DType::i32, DType::i64}) i.dtypes |= 1u << static_cast<uint32_t>(t);
      for (Mem m : {Mem::host, Mem::pinned, Mem::device}) i.mem_kinds |= static_cast<uint32_t>(m);
      i.async = 1;
      i.tf32 = 1;
      sdk::fill_record(out, i);
    });
  }
  Code alloc(uint64_t bytes, uint64_t align, Mem m, Buffer* out) noexcept override {
    return run("alloc", [&] { *out = allocate(bytes, align, m, settings_.ordinal); });
  }
  void free(const Buffer& b) noexcept override {
    cudaSetDevice(static_cast<int>(settings_.ordinal));
    release(b);
  }
  Code stream_new(int32_t priority, Stream* out) noexcept override {
    return run("stream_new", [&] {
      int least = 0, greatest = 0;
      check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "ask for stream priorities");
      cudaStream_t s = nullptr;
      check(cudaStreamCreateWithPriority(&s, cudaStreamNonBlocking, std::clamp(priority, greatest, least)), "create a stream");
      out->h = reinterpret_cast<uint64_t>(s);
    });
  }
  void stream_free(Stream s) noexcept override { cudaStreamDestroy(native(s)); }
  Code event_new(uint32_t timing, Event* out) noexcept override {
    return run("event_new", [&] {
      cudaEvent_t e = nullptr;
      check(cudaEventCreateWithFlags(&e, timing != 0 ? cudaEventDefault : cudaEventDisableTiming), "create an event");
      out->h = reinterpret_cast<uint64_t>(e);
    });
  }
  void event_free(Event e) noexcept override { cudaEventDestroy(native(e)); }
  Code record(Event e, Stream s) noexcept override {
    return run("record", [&] { check(cudaEventRecord(native(e), native(s)), "record an event"); });
  }
  Code wait(Stream s, Event e) noexcept override {
    return run("wait", [&] { check(cudaStreamWaitEvent(native(s), native(e), 0), "wait for an event"); });
  }
  Code done(Event e) noexcept override {
    const cudaError_t state = cudaEventQuery(native(e));
    if (state == cudaErrorNotReady) {
      cudaGetLastError();
      return Code::not_ready;
    }
    return run("done", [&] { check(state, "work of the device"); });
  }
  Code sync(Event e, uint32_t timeout_ms) noexcept override {
    return run("sync", [&] { wait_on_host(native(e), timeout_ms); });
  }
  Code elapsed_us(Event a, Event b, double* us) noexcept override {
    return run("elapsed_us", [&] {
      float ms = 0;
      check(cudaEventElapsedTime(&ms, native(a), native(b)), "time between two events");
      *us = 1e3 * static_cast<double>(ms);
    });
  }
  Code copy(Stream s, const Buffer& dst, uint64_t dst_off, const Buffer& src, uint64_t src_off, uint64_t n) noexcept override {
    return run("copy", [&] { cuda::copy(native(s), dst, dst_off, src, src_off, n); });
  }
  Code fill(Stream s, const Buffer& dst, uint64_t off, uint64_t n, uint32_t byte) noexcept override {
    return run("fill", [&] { cuda::fill(native(s), dst, off, n, byte); });
  }
  Code native(Stream s, const char* tag, void** out) noexcept override {
    return run("native", [&] {
      if (std::strcmp(tag, "cuda.stream") != 0) throw sdk::Error(Code::unsupported, std::string("no handle of type ") + tag + "; known is cuda.stream");
      *out = reinterpret_cast<void*>(s.h);
    });
  }

  // ---- capture -------------------------------------------------------------------------------------------------
  Code begin(Stream s) noexcept override {
    return run("begin", [&] { begin_capture(native(s)); });
  }
  Code end(Stream s, uint64_t* graph) noexcept override {
    return run("end", [&] { *graph = reinterpret_cast<uint64_t>(end_capture(native(s)).take()); });
  }
  Code replay(uint64_t graph, Stream s) noexcept override {
    return run("replay", [&] { check(cudaGraphLaunch(reinterpret_cast<cudaGraphExec_t>(graph), native(s)), "replay a graph"); });
  }
  void drop(uint64_t graph) noexcept override { cudaGraphExecDestroy(reinterpret_cast<cudaGraphExec_t>(graph)); }

  // ---- compiler ------------------------------------------------------------------------------------------------
  Code check(const GraphView& g, INodeReport& out) noexcept override {
    return run("check", [&] { check_graph(g, settings_, out); });
  }
  Code compile(const CompileRequest& r, IExecutable** out) noexcept override {
    return run("compile", [&] { *out = compile_graph(r, settings_); });
  }

 private:
  static void check(cudaError_t e, const char* what) { cuda::check(e, what); }
  static cudaStream_t native(Stream s) { return cuda::native(s); }
  static cudaEvent_t native(Event e) { return cuda::native(e); }

  void use() const { check(cudaSetDevice(static_cast<int>(settings_.ordinal)), "choose the device"); }

  template <class F>
  Code run(const char* where, F&& body) noexcept {
    return sdk::guard(where, [&] {
      use();
      body();
    });
  }

  static void wait_on_host(cudaEvent_t e, uint32_t timeout_ms) {
    const auto begin = Clock::now();
    for (;;) {
      const cudaError_t state = cudaEventQuery(e);
      if (state != cudaErrorNotReady) return check(state, "work of the device");
      cudaGetLastError();
      const auto waited = Clock::now() - begin;
      if (waited >= std::chrono::milliseconds(timeout_ms))
        throw sdk::Error(Code::timeout, "the device is not done after " + std::to_string(timeout_ms) + " ms");
      if (waited > kSpin) std::this_thread::sleep_for(kNap);
    }
  }

  Settings settings_;
  DeviceVectorOps vector_;
};

}  // namespace convoy::cuda

CONVOY_PLUGIN(device, convoy::cuda::CudaDevice, "cuda")
