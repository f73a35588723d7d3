// What the fake device is for: it finds missing waits, wrong addresses and failures of earlier work.
// That it is a correct device is the contract tests' affair.
#include "device.hpp"

#include "owned.hpp"
#include "plugin_options.hpp"
#include "recording_host.hpp"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <set>
#include <vector>

namespace convoy::mock {

namespace {

using convoy::testing::PluginOptions;
using convoy::testing::RecordingHost;

constexpr uint32_t kTimeoutMs = 30'000;
constexpr uint64_t kBytes = 256;

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif
#else
constexpr bool kThreadSanitizer = false;
#endif

Owned<IDevice> make(PluginOptions& options) { return Owned<IDevice>(new MockDevice(options.get())); }

Buffer alloc(IDevice& d, Mem m = Mem::device, uint64_t bytes = kBytes) {
  Buffer b{};
  REQUIRE(d.alloc(bytes, 64, m, &b) == Code::ok);
  return b;
}
Stream stream(IDevice& d) {
  Stream s{};
  REQUIRE(d.stream_new(0, &s) == Code::ok);
  return s;
}
Event event(IDevice& d) {
  Event e{};
  REQUIRE(d.event_new(1, &e) == Code::ok);
  return e;
}
/// Waits for all work of the stream so far.
Code finish(IDevice& d, Stream s) {
  const Event e = event(d);
  d.record(e, s);
  const Code c = d.sync(e, kTimeoutMs);
  d.event_free(e);
  return c;
}
Buffer host_buffer(void* p) { return {p, kBytes, 0, 0, Mem::host}; }

}  // namespace

TEST_SUITE("mock") {
  TEST_CASE("dereferencing device memory on the host is a fault") {
    RecordingHost host;
    PluginOptions o;
    const auto d = make(o);
    const Buffer b = alloc(*d);
    const pid_t child = fork();
    if (child == 0) {
      std::signal(SIGSEGV, SIG_DFL);  // the test framework would report it
      const volatile char* p = static_cast<const char*>(b.ptr);
      (void)*p;
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK_FALSE((WIFEXITED(status) && WEXITSTATUS(status) == 0));
    d->free(b);
  }

  TEST_CASE("fresh device memory is NaN, so that nobody relies on zeros") {
    RecordingHost host;
    PluginOptions o;
    const auto d = make(o);
    const Buffer b = alloc(*d);
    const Stream s = stream(*d);
    std::vector<float> found(kBytes / sizeof(float));
    d->copy(s, host_buffer(found.data()), 0, b, 0, kBytes);
    REQUIRE(finish(*d, s) == Code::ok);
    for (float v : found) CHECK(std::isnan(v));
    d->free(b);
  }

  TEST_CASE("a missing wait shows within a few seeds, and an event cures it for all of them") {
    RecordingHost host;
    for (const bool with_event : {false, true}) {
      if (!with_event && kThreadSanitizer) {
        MESSAGE("skipped without the event: it is a data race, as it should be, and the sanitizer says so");
        continue;
      }
      int stale = 0;
      for (int seed = 1; seed <= 30; ++seed) {
        PluginOptions o;
        o.set("max_delay_us", 500).set("seed", seed);
        const auto d = make(o);
        const Buffer b = alloc(*d);
        const Stream producer = stream(*d), consumer = stream(*d);
        const Event ready = event(*d);
        unsigned char found = 0;
        d->fill(producer, b, 0, kBytes, 1);
        finish(*d, producer);
        d->fill(producer, b, 0, kBytes, 2);
        d->record(ready, producer);
        if (with_event) d->wait(consumer, ready);
        d->copy(consumer, {&found, 1, 0, 0, Mem::host}, 0, b, 0, 1);
        finish(*d, consumer);
        finish(*d, producer);
        stale += found == 1 ? 1 : 0;
        d->event_free(ready);
        d->free(b);
      }
      if (with_event) CHECK(stale == 0);
      else CHECK(stale > 0);
    }
  }

  TEST_CASE("work on memory that was freed too early is an error") {
    RecordingHost host;
    PluginOptions o;
    o.set("max_delay_us", 2000);
    const auto d = make(o);
    const Buffer b = alloc(*d);
    const Stream s = stream(*d);
    for (int i = 0; i < 20; ++i) d->fill(s, b, 0, kBytes, 1);
    d->free(b);
    CHECK(finish(*d, s) == Code::device);
    CHECK(host.take().find("freed") != std::string::npos);
  }

  TEST_CASE("a copy past the end of a buffer is refused at the call") {
    RecordingHost host;
    PluginOptions o;
    const auto d = make(o);
    const Buffer b = alloc(*d);
    const Stream s = stream(*d);
    CHECK(d->fill(s, b, 1, kBytes, 0) == Code::invalid);
    CHECK(host.take().find("256 bytes from 1 of a buffer of 256 bytes") != std::string::npos);
    CHECK(d->fill(s, b, UINT64_MAX, 2, 0) == Code::invalid);
    d->free(b);
  }

  TEST_CASE("memory past memory_mib is out of memory, and comes back when it is freed") {
    RecordingHost host;
    PluginOptions o;
    o.set("memory_mib", 1);
    const auto d = make(o);
    const Buffer most = alloc(*d, Mem::device, 900 << 10);
    Buffer more{};
    CHECK(d->alloc(200 << 10, 64, Mem::device, &more) == Code::out_of_memory);
    CHECK(host.take().find("memory_mib") != std::string::npos);
    d->free(most);
    REQUIRE(d->alloc(200 << 10, 64, Mem::device, &more) == Code::ok);
    d->free(more);
  }

  TEST_CASE("a time-out is a code, and the work goes on") {
    RecordingHost host;
    PluginOptions o;
    o.set("max_delay_us", 200'000).set("seed", 3);
    const auto d = make(o);
    const Buffer b = alloc(*d);
    const Stream s = stream(*d);
    const Event e = event(*d);
    for (int i = 0; i < 4; ++i) d->fill(s, b, 0, kBytes, 1);
    d->record(e, s);
    CHECK(d->done(e) == Code::not_ready);
    CHECK(d->sync(e, 1) == Code::timeout);
    CHECK(d->sync(e, kTimeoutMs) == Code::ok);
    CHECK(d->done(e) == Code::ok);
    d->event_free(e);
    d->free(b);
  }

  TEST_CASE("a failure surfaces at done and sync behind it, and in streams that wait for it, but not in others") {
    RecordingHost host;
    PluginOptions o;
    o.set("fail_at", 2);
    const auto d = make(o);
    const Buffer b = alloc(*d);
    const Stream failing = stream(*d), waiting = stream(*d), other = stream(*d);
    const Event before = event(*d), behind = event(*d);
    d->fill(failing, b, 0, kBytes, 1);
    d->record(before, failing);
    d->fill(failing, b, 0, kBytes, 2);
    d->record(behind, failing);
    d->wait(waiting, behind);
    CHECK(d->sync(before, kTimeoutMs) == Code::ok);
    CHECK(d->sync(behind, kTimeoutMs) == Code::device);
    CHECK(host.take().find("fail_at") != std::string::npos);
    CHECK(d->done(behind) == Code::device);
    CHECK(finish(*d, waiting) == Code::device);
    CHECK(host.take().find("fail_at") != std::string::npos);
    CHECK(finish(*d, other) == Code::ok);
    d->event_free(before);
    d->event_free(behind);
    d->free(b);
  }

  TEST_CASE("branches of a capture without an edge between them run in either order") {
    RecordingHost host;
    PluginOptions o;
    o.set("max_delay_us", 0);
    const auto d = make(o);
    auto* capture = static_cast<ICapture*>(d->query(ICapture::id));
    const Buffer b = alloc(*d);
    const Stream main = stream(*d), side = stream(*d);
    const Event fork = event(*d), join = event(*d);
    REQUIRE(capture->begin(main) == Code::ok);
    d->record(fork, main);
    d->wait(side, fork);
    d->fill(side, b, 0, kBytes, 1);
    d->fill(main, b, 0, kBytes, 2);  // races with the fill above
    d->record(join, side);
    d->wait(main, join);
    uint64_t graph = 0;
    REQUIRE(capture->end(main, &graph) == Code::ok);
    std::set<int> outcomes;
    for (int i = 0; i < 40; ++i) {
      unsigned char found = 0;
      capture->replay(graph, main);
      d->copy(main, {&found, 1, 0, 0, Mem::host}, 0, b, 0, 1);
      REQUIRE(finish(*d, main) == Code::ok);
      outcomes.insert(found);
    }
    CHECK(outcomes == std::set<int>{1, 2});
    capture->drop(graph);
    d->event_free(fork);
    d->event_free(join);
    d->free(b);
  }

  TEST_CASE("an event from outside a capture may not be waited for inside, nor the reverse") {
    RecordingHost host;
    PluginOptions o;
    const auto d = make(o);
    auto* capture = static_cast<ICapture*>(d->query(ICapture::id));
    const Stream inside = stream(*d), outside = stream(*d);
    const Event live = event(*d), captured = event(*d);
    d->record(live, outside);
    REQUIRE(capture->begin(inside) == Code::ok);
    CHECK(d->wait(inside, live) == Code::invalid);
    d->record(captured, inside);
    CHECK(d->done(captured) == Code::invalid);
    uint64_t graph = 0;
    REQUIRE(capture->end(inside, &graph) == Code::ok);
    CHECK(d->wait(outside, captured) == Code::invalid);
    capture->drop(graph);
    d->event_free(live);
    d->event_free(captured);
  }
}

}  // namespace convoy::mock
