// Level 0 of every device backend: memory, copies, fills, handles. Streams and events: event_test.cpp.
#include "devices.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace convoy::contract {

namespace {

constexpr uint32_t kTimeoutMs = 30'000;

std::vector<Mem> kinds(const exec::Device& d) {
  std::vector<Mem> out;
  for (Mem m : {Mem::host, Mem::pinned, Mem::device})
    if ((d.info().mem_kinds & static_cast<uint32_t>(m)) != 0) out.push_back(m);
  return out;
}

void wait(const exec::Device& d, Stream s) {
  exec::DeviceEvent e(d);
  e.record(s);
  e.sync(kTimeoutMs);
}

std::vector<unsigned char> pattern(std::size_t n, unsigned seed) {
  std::vector<unsigned char> out(n);
  for (std::size_t i = 0; i < n; ++i) out[i] = static_cast<unsigned char>(i * 31 + seed);
  return out;
}

/// A number from /proc/self/status: "VmRSS" in KiB, "Threads".
long status(const std::string& key) {
  std::ifstream in("/proc/self/status");
  for (std::string line; std::getline(in, line);)
    if (line.compare(0, key.size() + 1, key + ":") == 0) return std::stol(line.substr(key.size() + 1));
  return -1;
}

}  // namespace

TEST_SUITE("contract: level 0") {
  TEST_CASE("a device describes itself") {
    for (const auto& name : device_names()) {
      const auto d = open_device(name);
      INFO(name);
      CHECK(std::memchr(d->info().name, '\0', sizeof d->info().name) != nullptr);
      CHECK(std::strlen(d->info().name) > 0);
      CHECK(std::memchr(d->info().uuid, '\0', sizeof d->info().uuid) != nullptr);
      CHECK(d->info().ordinal == 0);
      CHECK((d->info().dtypes & 1u << static_cast<uint32_t>(DType::f32)) != 0);
      CHECK(!kinds(*d).empty());
      CHECK(d->info().free_bytes <= d->info().total_bytes);
    }
  }

  TEST_CASE("a reader with an older, shorter record gets no byte past its end") {
    for (const auto& name : device_names()) {
      const auto d = open_device(name);
      INFO(name);
      DeviceInfo older{};
      older.struct_size = offsetof(DeviceInfo, total_bytes);
      older.total_bytes = 0x1234567890u;
      REQUIRE(d->raw().info(&older) == Code::ok);
      CHECK(older.total_bytes == 0x1234567890u);
    }
  }

  TEST_CASE("memory is aligned as asked for, whatever its size") {
    for (const auto& name : device_names()) {
      const auto d = open_device(name);
      for (Mem m : kinds(*d))
        for (uint64_t align = 1; align <= 4096; align *= 2)
          for (uint64_t bytes : {0, 1, 3, 4096, 100'003}) {
            INFO(name << ": " << bytes << " bytes at " << align);
            Buffer b{};
            REQUIRE(d->raw().alloc(bytes, align, m, &b) == Code::ok);
            CHECK(reinterpret_cast<uintptr_t>(b.ptr) % align == 0);
            CHECK(b.bytes >= bytes);
            CHECK(b.mem == m);
            d->raw().free(b);
          }
    }
  }

  TEST_CASE("memory that does not exist is a code with a message, and the next allocation works") {
    for (const auto& name : device_names()) {
      const auto d = open_device(name);
      for (Mem m : kinds(*d)) {
        INFO(name);
        host().take_message();
        for (uint64_t bytes : {uint64_t{1} << 50, UINT64_MAX}) {
          Buffer b{};
          CHECK(d->raw().alloc(bytes, 64, m, &b) == Code::out_of_memory);
          CHECK(!host().take_message().empty());
        }
        Buffer b{};
        REQUIRE(d->raw().alloc(64, 64, m, &b) == Code::ok);
        d->raw().free(b);
      }
    }
  }

  TEST_CASE("a kind of memory that a device does not have is refused with a message") {
    for (const auto& name : device_names()) {
      const auto d = open_device(name);
      for (Mem m : {Mem::host, Mem::pinned, Mem::device}) {
        if ((d->info().mem_kinds & static_cast<uint32_t>(m)) != 0) continue;
        INFO(name);
        host().take_message();
        Buffer b{};
        CHECK(d->raw().alloc(64, 64, m, &b) != Code::ok);
        CHECK(!host().take_message().empty());
      }
    }
  }

  TEST_CASE("copies of odd sizes at odd offsets move exactly those bytes, between all kinds of memory") {
    constexpr uint64_t kRoom = 5000;
    for (const auto& name : device_names()) {
      const auto d = open_device(name);
      const exec::DeviceStream s(*d);
      for (Mem from : kinds(*d))
        for (Mem to : kinds(*d)) {
          const exec::DeviceBuffer a(*d, kRoom, from, "source"), b(*d, kRoom, to, "target");
          const auto source = pattern(kRoom, 1), before = pattern(kRoom, 77);
          for (uint64_t n : {0, 1, 3, 7, 63, 64, 65, 1000, 4097})
            for (uint64_t off : {0, 1, 5, 63}) {
              auto expected = before;
              std::memcpy(expected.data() + off, source.data() + off + 3, n);
              std::vector<unsigned char> found(kRoom);
              d->raw().copy(s.get(), a.get(), 0, exec::host_view(source.data(), kRoom), 0, kRoom);
              d->raw().copy(s.get(), b.get(), 0, exec::host_view(before.data(), kRoom), 0, kRoom);
              REQUIRE(d->raw().copy(s.get(), b.get(), off, a.get(), off + 3, n) == Code::ok);
              d->raw().copy(s.get(), exec::host_view(found.data(), kRoom), 0, b.get(), 0, kRoom);
              wait(*d, s.get());
              CHECK_MESSAGE(found == expected, name << ": " << n << " bytes at " << off);
            }
        }
    }
  }

  TEST_CASE("fills of odd sizes at odd offsets write exactly those bytes") {
    constexpr uint64_t kRoom = 5000;
    for (const auto& name : device_names()) {
      const auto d = open_device(name);
      const exec::DeviceStream s(*d);
      for (Mem m : kinds(*d)) {
        const exec::DeviceBuffer b(*d, kRoom, m, "target");
        const auto before = pattern(kRoom, 5);
        for (uint64_t n : {0, 1, 3, 65, 4097})
          for (uint64_t off : {0, 1, 63}) {
            auto expected = before;
            std::memset(expected.data() + off, 0xa5, n);
            std::vector<unsigned char> found(kRoom);
            d->raw().copy(s.get(), b.get(), 0, exec::host_view(before.data(), kRoom), 0, kRoom);
            REQUIRE(d->raw().fill(s.get(), b.get(), off, n, 0xa5) == Code::ok);
            d->raw().copy(s.get(), exec::host_view(found.data(), kRoom), 0, b.get(), 0, kRoom);
            wait(*d, s.get());
            CHECK_MESSAGE(found == expected, name << ": " << n << " bytes at " << off);
          }
      }
    }
  }

  TEST_CASE("an unknown native handle is unsupported, with a message") {
    for (const auto& name : device_names()) {
      const auto d = open_device(name);
      const exec::DeviceStream s(*d);
      INFO(name);
      host().take_message();
      void* handle = nullptr;
      CHECK(d->raw().native(s.get(), "no.such.handle", &handle) == Code::unsupported);
      CHECK(!host().take_message().empty());
    }
  }

  TEST_CASE("an unknown facet is null, and the device's own interface is found") {
    for (const auto& name : device_names()) {
      const auto d = open_device(name);
      INFO(name);
      CHECK(d->raw().query("convoy.no.such.facet.1") == nullptr);
      CHECK(d->raw().query(IDevice::id) == &d->raw());
    }
  }

  TEST_CASE("a thousand streams, events and buffers leave nothing behind") {
    // A sanitizer keeps freed memory for a while; elsewhere a leak of 64 bytes each would already show.
    const long allowed_kib = under_sanitizer() ? 512 * 1024 : 4 * 1024;
    for (const auto& name : device_names()) {
      const auto d = open_device(name);
      const auto once = [&] {
        Stream s{};
        Event e{};
        Buffer b{};
        REQUIRE(d->raw().stream_new(0, &s) == Code::ok);
        REQUIRE(d->raw().event_new(1, &e) == Code::ok);
        REQUIRE(d->raw().alloc(1 << 16, 64, d->compute_memory(), &b) == Code::ok);
        d->raw().fill(s, b, 0, b.bytes, 0);
        d->raw().record(e, s);
        REQUIRE(d->raw().sync(e, kTimeoutMs) == Code::ok);
        d->raw().free(b);
        d->raw().event_free(e);
        d->raw().stream_free(s);
      };
      for (int i = 0; i < 100; ++i) once();
      const long memory = status("VmRSS"), threads = status("Threads");
      for (int i = 0; i < 1000; ++i) once();
      CHECK_MESSAGE(status("VmRSS") - memory < allowed_kib, name);
      CHECK_MESSAGE(status("Threads") == threads, name);
    }
  }
}

}  // namespace convoy::contract
