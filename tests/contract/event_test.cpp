// Streams and events of every device backend: order within a stream, order across streams by events, time-outs.
#include "devices.hpp"
#include "slow_work.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>
#include <vector>

namespace convoy::contract {

namespace {

constexpr uint32_t kTimeoutMs = 30'000;
constexpr uint64_t kBytes = 4096;
constexpr int kRepeats = 8;

struct Bench {
  explicit Bench(const std::string& name)
      : device(open_device(name)), slow(*device), data(*device, kBytes, device->compute_memory(), "data"),
        found(kBytes) {}
  /// The byte that all of `data` holds once `s` gets here, or -1 where they differ.
  int read(Stream s) {
    device->raw().copy(s, exec::host_view(found.data(), kBytes), 0, data.get(), 0, kBytes);
    exec::DeviceEvent e(*device);
    e.record(s);
    e.sync(kTimeoutMs);
    for (unsigned char byte : found)
      if (byte != found[0]) return -1;
    return found[0];
  }
  void fill(Stream s, uint32_t byte) { device->check(device->raw().fill(s, data.get(), 0, kBytes, byte), "fill"); }

  std::unique_ptr<exec::Device> device;
  SlowWork slow;
  exec::DeviceBuffer data;
  std::vector<unsigned char> found;
};

}  // namespace

TEST_SUITE("contract: events") {
  TEST_CASE("work in one stream runs in order") {
    for (const auto& name : device_names()) {
      Bench b(name);
      const exec::DeviceStream s(*b.device);
      for (uint32_t byte = 0; byte < 200; ++byte) b.fill(s.get(), byte);
      CHECK_MESSAGE(b.read(s.get()) == 199, name);
    }
  }

  TEST_CASE("a stream that waits for an event sees what was done before it, however slow that is") {
    for (const auto& name : device_names()) {
      Bench b(name);
      const exec::DeviceStream producer(*b.device), consumer(*b.device);
      exec::DeviceEvent ready(*b.device);
      for (int i = 0; i < kRepeats; ++i) {
        b.slow.enqueue(producer.get());
        b.fill(producer.get(), static_cast<uint32_t>(i + 1));
        ready.record(producer.get());
        REQUIRE(b.device->raw().wait(consumer.get(), ready.get()) == Code::ok);
        CHECK_MESSAGE(b.read(consumer.get()) == i + 1, name);
      }
    }
  }

  TEST_CASE("order passes through a third stream") {
    for (const auto& name : device_names()) {
      Bench b(name);
      const exec::DeviceStream first(*b.device), second(*b.device), third(*b.device);
      exec::DeviceEvent one(*b.device), two(*b.device);
      for (int i = 0; i < kRepeats; ++i) {
        b.slow.enqueue(first.get());
        b.fill(first.get(), static_cast<uint32_t>(i + 1));
        one.record(first.get());
        b.device->raw().wait(second.get(), one.get());
        two.record(second.get());
        b.device->raw().wait(third.get(), two.get());
        CHECK_MESSAGE(b.read(third.get()) == i + 1, name);
      }
    }
  }

  TEST_CASE("a wait means the record before it, not one that comes later") {
    for (const auto& name : device_names()) {
      Bench b(name);
      const exec::DeviceStream slow(*b.device), quick(*b.device), consumer(*b.device);
      exec::DeviceEvent e(*b.device);
      for (int i = 0; i < kRepeats; ++i) {
        b.slow.enqueue(slow.get());
        b.fill(slow.get(), static_cast<uint32_t>(i + 1));
        e.record(slow.get());
        b.device->raw().wait(consumer.get(), e.get());
        e.record(quick.get());
        CHECK_MESSAGE(b.read(consumer.get()) == i + 1, name);
      }
    }
  }

  TEST_CASE("an event that was never recorded holds nobody up") {
    for (const auto& name : device_names()) {
      Bench b(name);
      const exec::DeviceStream s(*b.device);
      const exec::DeviceEvent e(*b.device);
      CHECK(b.device->raw().wait(s.get(), e.get()) == Code::ok);
      b.fill(s.get(), 9);
      CHECK_MESSAGE(b.read(s.get()) == 9, name);
    }
  }

  TEST_CASE("done and sync say not yet, then done, and a time-out is a code with a message") {
    for (const auto& name : device_names()) {
      Bench b(name);
      const exec::DeviceStream s(*b.device);
      exec::DeviceEvent e(*b.device);
      b.slow.enqueue(s.get());
      e.record(s.get());
      host().take_message();
      const Code at_once = b.device->raw().sync(e.get(), 0);
      INFO(name);
      CHECK((at_once == Code::ok || at_once == Code::timeout));
      if (at_once == Code::timeout) CHECK(!host().take_message().empty());
      const Code polled = b.device->raw().done(e.get());
      CHECK((polled == Code::ok || polled == Code::not_ready));
      CHECK(b.device->raw().sync(e.get(), kTimeoutMs) == Code::ok);
      CHECK(b.device->raw().done(e.get()) == Code::ok);
    }
  }

  TEST_CASE("the host never waits while it enqueues on an asynchronous device") {
    for (const auto& name : device_names()) {
      Bench b(name);
      if (b.device->info().async == 0) continue;
      const exec::DeviceStream s(*b.device);
      exec::DeviceEvent e(*b.device);
      int ahead = 0;  // of many tries, for the host may be held up by others
      for (int i = 0; i < kRepeats; ++i) {
        b.slow.enqueue(s.get());
        e.record(s.get());
        ahead += b.device->raw().done(e.get()) == Code::not_ready ? 1 : 0;
        e.sync(kTimeoutMs);
      }
      CHECK_MESSAGE(ahead > 0, name);
    }
  }

  TEST_CASE("device time between two events is what the work between them took") {
    for (const auto& name : device_names()) {
      Bench b(name);
      const exec::DeviceStream s(*b.device);
      exec::DeviceEvent begin(*b.device, true), end(*b.device, true);
      const auto before = std::chrono::steady_clock::now();
      begin.record(s.get());
      b.slow.enqueue(s.get());
      end.record(s.get());
      end.sync(kTimeoutMs);
      const double host_us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - before).count();
      double us = -1;
      INFO(name);
      REQUIRE(b.device->raw().elapsed_us(begin.get(), end.get(), &us) == Code::ok);
      CHECK(us > 0);
      CHECK(us <= host_us);
    }
  }

  TEST_CASE("several threads drive a stream each") {
    constexpr int kThreads = 4;
    for (const auto& name : device_names()) {
      const auto d = open_device(name);
      std::vector<int> found(kThreads, -1);
      std::vector<std::thread> threads;
      for (int t = 0; t < kThreads; ++t)
        threads.emplace_back([&, t] {
          const exec::DeviceStream s(*d);
          const exec::DeviceBuffer data(*d, 64, d->compute_memory(), "data");
          exec::DeviceEvent e(*d);
          unsigned char out[64] = {};
          for (uint32_t i = 0; i < 50; ++i) d->raw().fill(s.get(), data.get(), 0, 64, i + static_cast<uint32_t>(t));
          d->raw().copy(s.get(), exec::host_view(out, 64), 0, data.get(), 0, 64);
          e.record(s.get());
          e.sync(kTimeoutMs);
          found[static_cast<std::size_t>(t)] = out[63];
        });
      for (auto& thread : threads) thread.join();
      for (int t = 0; t < kThreads; ++t) CHECK_MESSAGE(found[static_cast<std::size_t>(t)] == 49 + t, name);
    }
  }
}

}  // namespace convoy::contract
