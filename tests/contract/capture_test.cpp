// Capture, where a device offers it: forked and joined streams become one replayable graph.
#include "devices.hpp"
#include "slow_work.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace convoy::contract {

namespace {

constexpr uint32_t kTimeoutMs = 30'000;
constexpr uint64_t kBytes = 1024;

ICapture* capture_of(const exec::Device& d) { return static_cast<ICapture*>(d.raw().query(ICapture::id)); }

struct Pieces {
  explicit Pieces(const exec::Device& d)
      : a(d, kBytes, d.compute_memory(), "a"), b(d, kBytes, d.compute_memory(), "b"), c(d, kBytes, d.compute_memory(), "c") {}
  exec::DeviceBuffer a, b, c;
};

std::vector<unsigned char> read(const exec::Device& d, const exec::DeviceBuffer& from, Stream s) {
  std::vector<unsigned char> out(kBytes);
  d.raw().copy(s, exec::host_view(out.data(), kBytes), 0, from.get(), 0, kBytes);
  exec::DeviceEvent e(d);
  e.record(s);
  e.sync(kTimeoutMs);
  return out;
}

}  // namespace

TEST_SUITE("contract: capture") {
  TEST_CASE("a captured fork and join replays in the order that its events say") {
    for (const auto& name : device_names()) {
      const auto d = open_device(name);
      ICapture* capture = capture_of(*d);
      if (capture == nullptr) continue;
      INFO(name);
      const exec::DeviceStream main(*d), side(*d);
      exec::DeviceEvent fork(*d), join(*d);
      Pieces p(*d);
      SlowWork slow(*d);
      REQUIRE(capture->begin(main.get()) == Code::ok);
      d->raw().fill(main.get(), p.a.get(), 0, kBytes, 7);
      fork.record(main.get());
      d->raw().wait(side.get(), fork.get());
      slow.enqueue(side.get());
      d->raw().copy(side.get(), p.b.get(), 0, p.a.get(), 0, kBytes);  // reads what main wrote before the fork
      join.record(side.get());
      d->raw().wait(main.get(), join.get());
      d->raw().copy(main.get(), p.c.get(), 0, p.b.get(), 0, kBytes);  // reads what side wrote
      d->raw().fill(main.get(), p.a.get(), 0, kBytes, 9);             // only then may a change
      uint64_t graph = 0;
      REQUIRE(capture->end(main.get(), &graph) == Code::ok);
      for (int i = 0; i < 5; ++i) {
        d->raw().fill(main.get(), p.b.get(), 0, kBytes, 0);
        d->raw().fill(main.get(), p.c.get(), 0, kBytes, 0);
        REQUIRE(capture->replay(graph, main.get()) == Code::ok);
        CHECK(read(*d, p.c, main.get()) == std::vector<unsigned char>(kBytes, 7));
        CHECK(read(*d, p.a, main.get()) == std::vector<unsigned char>(kBytes, 9));
      }
      capture->drop(graph);
    }
  }

  TEST_CASE("nothing runs while it is being captured") {
    for (const auto& name : device_names()) {
      const auto d = open_device(name);
      ICapture* capture = capture_of(*d);
      if (capture == nullptr) continue;
      INFO(name);
      const exec::DeviceStream s(*d), other(*d);
      Pieces p(*d);
      d->raw().fill(other.get(), p.a.get(), 0, kBytes, 1);
      read(*d, p.a, other.get());
      REQUIRE(capture->begin(s.get()) == Code::ok);
      d->raw().fill(s.get(), p.a.get(), 0, kBytes, 2);
      uint64_t graph = 0;
      REQUIRE(capture->end(s.get(), &graph) == Code::ok);
      CHECK(read(*d, p.a, other.get())[0] == 1);
      capture->drop(graph);
    }
  }

  TEST_CASE("a fork that is not joined is refused with a message, and the streams work again") {
    for (const auto& name : device_names()) {
      const auto d = open_device(name);
      ICapture* capture = capture_of(*d);
      if (capture == nullptr) continue;
      INFO(name);
      const exec::DeviceStream main(*d), side(*d);
      exec::DeviceEvent fork(*d);
      Pieces p(*d);
      REQUIRE(capture->begin(main.get()) == Code::ok);
      d->raw().fill(main.get(), p.a.get(), 0, kBytes, 3);
      fork.record(main.get());
      d->raw().wait(side.get(), fork.get());
      d->raw().fill(side.get(), p.b.get(), 0, kBytes, 3);
      host().take_message();
      uint64_t graph = 0;
      CHECK(capture->end(main.get(), &graph) != Code::ok);
      CHECK(!host().take_message().empty());
      d->raw().fill(main.get(), p.a.get(), 0, kBytes, 4);
      CHECK(read(*d, p.a, main.get())[0] == 4);
      d->raw().fill(side.get(), p.a.get(), 0, kBytes, 5);
      CHECK(read(*d, p.a, side.get())[0] == 5);
    }
  }
}

}  // namespace convoy::contract
