#include "device.hpp"

#include "capture.hpp"
#include "kernels.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace convoy::mock {

using sdk::guard;

namespace {

/// Errors: invalid, where [off, off + n) is not inside the buffer.
char* inside(const Buffer& b, uint64_t off, uint64_t n) {
  if (n > b.bytes || off > b.bytes - n)
    throw sdk::Error(Code::invalid, std::to_string(n) + " bytes from " + std::to_string(off) + " of a buffer of " +
                                        std::to_string(b.bytes) + " bytes");
  return reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(b.ptr) + off);
}

DelayOptions delays(const Options& o) {
  return {static_cast<uint64_t>(sdk::get(o, "max_delay_us", 20)), static_cast<uint64_t>(sdk::get(o, "seed", 1)),
          static_cast<uint64_t>(sdk::get(o, "fail_at", 0))};
}

}  // namespace

MockDevice::MockDevice(const Options& o)
    : ordinal_(static_cast<uint32_t>(sdk::get(o, "ordinal", 0))),
      memory_(static_cast<uint64_t>(sdk::get(o, "memory_mib", 4096)) << 20),
      worker_(memory_, delays(o)) {}

void* MockDevice::query(const char* id) noexcept {
  if (std::strcmp(id, IDevice::id) == 0) return static_cast<IDevice*>(this);
  if (void* facet = kernels_.query(id)) return facet;
  if (void* facet = vector_.query(id)) return facet;
  return capture_.query(id);
}

Code MockDevice::info(DeviceInfo* out) noexcept {
  return guard("info", [&] {
    auto i = sdk::sized<DeviceInfo>();
    i.ordinal = ordinal_;
    sdk::copy_text(i.name, "mock");
    i.total_bytes = memory_.limit_bytes();
    i.free_bytes = memory_.limit_bytes() - memory_.used_bytes();
    for (DType t : {DType::f32, DType::u8, DType::i32, DType::i64}) i.dtypes |= 1u << static_cast<uint32_t>(t);
    for (Mem m : {Mem::host, Mem::pinned, Mem::device}) i.mem_kinds |= static_cast<uint32_t>(m);
    i.async = 1;
    sdk::fill_record(out, i);
  });
}

Code MockDevice::alloc(uint64_t bytes, uint64_t align, Mem m, Buffer* out) noexcept {
  return guard("alloc", [&] { *out = memory_.alloc(bytes, align, m, ordinal_); });
}
void MockDevice::free(const Buffer& b) noexcept { memory_.free(b); }

Code MockDevice::stream_new(int32_t, Stream* out) noexcept {
  return guard("stream_new", [&] {
    const std::lock_guard lock(mutex_);
    auto made = std::make_unique<MockStream>(worker_, ++streams_made_);
    out->h = reinterpret_cast<uint64_t>(made.get());
    streams_[out->h] = std::move(made);
  });
}

void MockDevice::stream_free(Stream s) noexcept {
  std::unique_ptr<MockStream> ending;  // joined without the lock
  const std::lock_guard lock(mutex_);
  const auto found = streams_.find(s.h);
  if (found == streams_.end()) return;
  ending = std::move(found->second);
  streams_.erase(found);
}

Code MockDevice::event_new(uint32_t, Event* out) noexcept {
  return guard("event_new", [&] {
    out->h = reinterpret_cast<uint64_t>(new std::shared_ptr<EventState>(std::make_shared<EventState>()));
  });
}
void MockDevice::event_free(Event e) noexcept { delete reinterpret_cast<std::shared_ptr<EventState>*>(e.h); }

Code MockDevice::record(Event e, Stream s) noexcept {
  return guard("record", [&] {
    MockStream& to = stream(s);
    const std::lock_guard lock(event(e)->mutex);
    event(e)->capture = to.capture;
    if (to.capture != nullptr) return to.capture->record(s.h, *event(e));
    Work w;
    w.what = Work::What::record;
    w.event = event(e);
    event(e)->position = to.push(std::move(w));
    event(e)->stream = to.progress();
  });
}

Code MockDevice::wait(Stream s, Event e) noexcept {
  return guard("wait", [&] {
    MockStream& to = stream(s);
    const std::lock_guard lock(event(e)->mutex);
    const auto& captured = event(e)->capture;
    if (captured != nullptr && captured->active() && (to.capture == nullptr || to.capture == captured)) {
      to.capture = captured;  // forks the stream into the capture
      return captured->wait(s.h, *event(e));
    }
    if (captured != nullptr || to.capture != nullptr)
      throw sdk::Error(Code::invalid, "a wait from inside a capture for an event outside of it, or the reverse");
    if (event(e)->stream == nullptr) return;
    Work w;
    w.what = Work::What::wait;
    w.awaited = event(e)->stream;
    w.position = event(e)->position;
    to.push(std::move(w));
  });
}

Code MockDevice::done(Event e) noexcept {
  Progress::State state = Progress::State::reached;
  const Code c = guard("done", [&] {
    const std::lock_guard lock(event(e)->mutex);
    if (event(e)->capture != nullptr) throw sdk::Error(Code::invalid, "the event was last recorded in a capture");
    if (event(e)->stream != nullptr) state = event(e)->stream->state(event(e)->position);
    if (state == Progress::State::failed) throw event(e)->stream->failure();
  });
  return c == Code::ok && state == Progress::State::pending ? Code::not_ready : c;
}

Code MockDevice::sync(Event e, uint32_t timeout_ms) noexcept {
  return guard("sync", [&] {
    std::unique_lock lock(event(e)->mutex);
    if (event(e)->capture != nullptr) throw sdk::Error(Code::invalid, "the event was last recorded in a capture");
    const auto progress = event(e)->stream;
    const uint64_t position = event(e)->position;
    lock.unlock();
    if (progress == nullptr) return;
    const auto state = progress->wait(position, timeout_ms);
    if (state == Progress::State::failed) throw progress->failure();
    if (state == Progress::State::pending)
      throw sdk::Error(Code::timeout, "the device was not done after " + std::to_string(timeout_ms) + " ms");
  });
}

Code MockDevice::elapsed_us(Event a, Event b, double* us) noexcept {
  *us = std::chrono::duration<double, std::micro>(event(b)->reached.load() - event(a)->reached.load()).count();
  return Code::ok;
}

Code MockDevice::copy(Stream s, const Buffer& dst, uint64_t dst_off, const Buffer& src, uint64_t src_off,
                      uint64_t n) noexcept {
  return guard("copy", [&] {
    Work w;
    w.what = Work::What::copy;
    w.dst = inside(dst, dst_off, n);
    w.src = inside(src, src_off, n);
    w.count = n;
    issue(s, std::move(w));
  });
}

Code MockDevice::fill(Stream s, const Buffer& dst, uint64_t off, uint64_t n, uint32_t byte) noexcept {
  return guard("fill", [&] {
    Work w;
    w.what = Work::What::fill;
    w.dst = inside(dst, off, n);
    w.count = n;
    w.byte = byte;
    issue(s, std::move(w));
  });
}

Code MockDevice::native(Stream, const char* tag, void**) noexcept {
  return guard("native", [&] { throw sdk::Error(Code::unsupported, std::string("no handle of type ") + tag); });
}

void MockDevice::issue(Stream s, Work w) {
  MockStream& to = stream(s);
  if (to.capture != nullptr) to.capture->add(s.h, std::move(w));
  else to.push(std::move(w));
}

// ---- kernels ------------------------------------------------------------------------------------------------

MockKernels::MockKernels(MockDevice& device) : TableKernels(reference::kernels()), device_(device) {}

Code MockKernels::prepare(const GraphView& g, uint32_t node, uint64_t* workspace, uint64_t* kernel) noexcept {
  return guard("prepare", [&] {
    auto made = std::make_shared<MockKernel>(sdk::PreparedKernel(reference::kernels(), g, node));
    *workspace = made->kernel.workspace();
    *kernel = reinterpret_cast<uint64_t>(new std::shared_ptr<MockKernel>(std::move(made)));
  });
}

void MockKernels::release(uint64_t kernel) noexcept { delete reinterpret_cast<std::shared_ptr<MockKernel>*>(kernel); }

Code MockKernels::launch(uint64_t kernel, Stream s, Span<const Binding> io, void* workspace) noexcept {
  auto& k = *reinterpret_cast<std::shared_ptr<MockKernel>*>(kernel);
  return guard(k->kernel.node().name.c_str(), [&] {
    const auto same = [](const Binding& a, const Binding& b) { return a.ptr == b.ptr; };
    if (k->last == nullptr || !std::equal(io.p, io.p + io.n, k->last->begin(), k->last->end(), same))
      k->last = std::make_shared<const Bindings>(io.p, io.p + io.n);
    Work w;
    w.what = Work::What::kernel;
    w.kernel = k;
    w.io = k->last;
    w.workspace = workspace;
    device_.issue(s, std::move(w));
  });
}

// ---- vector arithmetic --------------------------------------------------------------------------------------

void* MockVectorOps::query(const char* id) noexcept {
  return std::strcmp(id, IVectorOps::id) == 0 ? static_cast<IVectorOps*>(this) : nullptr;
}

Code MockVectorOps::add(Stream s, const Buffer& dst, uint64_t dst_off, const Buffer& src, uint64_t src_off,
                        uint64_t count, DType t) noexcept {
  return guard("add", [&] {
    sdk::with_float_type(t, [](auto) {});  // refuses now what would fail later
    Work w;
    w.what = Work::What::add;
    w.dst = inside(dst, dst_off, count * sdk::dtype_bytes(t));
    w.src = inside(src, src_off, count * sdk::dtype_bytes(t));
    w.count = count;
    w.type = t;
    device_.issue(s, std::move(w));
  });
}

Code MockVectorOps::scale(Stream s, const Buffer& b, uint64_t off, uint64_t count, DType t, double k) noexcept {
  return guard("scale", [&] {
    sdk::with_float_type(t, [](auto) {});
    Work w;
    w.what = Work::What::scale;
    w.dst = inside(b, off, count * sdk::dtype_bytes(t));
    w.count = count;
    w.type = t;
    w.factor = k;
    device_.issue(s, std::move(w));
  });
}

Code MockVectorOps::cast(Stream s, const Buffer& dst, uint64_t dst_off, DType to, const Buffer& src,
                         uint64_t src_off, DType from, uint64_t count) noexcept {
  return guard("cast", [&] {
    sdk::with_float_type(to, [](auto) {});
    sdk::with_float_type(from, [](auto) {});
    Work w;
    w.what = Work::What::cast;
    w.dst = inside(dst, dst_off, count * sdk::dtype_bytes(to));
    w.src = inside(src, src_off, count * sdk::dtype_bytes(from));
    w.count = count;
    w.type = to;
    w.from = from;
    device_.issue(s, std::move(w));
  });
}

// ---- capture ------------------------------------------------------------------------------------------------

void* MockCapture::query(const char* id) noexcept {
  return std::strcmp(id, ICapture::id) == 0 ? static_cast<ICapture*>(this) : nullptr;
}

Code MockCapture::begin(Stream s) noexcept {
  return guard("begin", [&] {
    auto& stream = MockDevice::stream(s);
    if (stream.capture != nullptr) throw sdk::Error(Code::invalid, "the stream is being captured already");
    stream.capture = std::make_shared<Capture>(s.h);
  });
}

Code MockCapture::end(Stream s, uint64_t* graph) noexcept {
  return guard("end", [&] {
    const auto capture = MockDevice::stream(s).capture;
    if (capture == nullptr || capture->origin() != s.h)
      throw sdk::Error(Code::invalid, "no capture began on this stream");
    for (uint64_t lane : capture->lanes()) MockDevice::stream({lane}).capture = nullptr;
    *graph = reinterpret_cast<uint64_t>(new std::shared_ptr<Graph>(capture->end()));
  });
}

Code MockCapture::replay(uint64_t graph, Stream s) noexcept {
  return guard("replay", [&] {
    Work w;
    w.what = Work::What::replay;
    w.graph = *reinterpret_cast<std::shared_ptr<Graph>*>(graph);
    device_.issue(s, std::move(w));
  });
}

void MockCapture::drop(uint64_t graph) noexcept { delete reinterpret_cast<std::shared_ptr<Graph>*>(graph); }

}  // namespace convoy::mock
