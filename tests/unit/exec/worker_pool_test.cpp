// The pool: every index once, for any size, again and again, from several threads, and where threads are refused.
#include "exec/worker_pool.hpp"

#include "error.hpp"

#include <doctest/doctest.h>

#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

using namespace convoy::exec;

TEST_SUITE("worker pool") {
  TEST_CASE("every index is visited exactly once") {
    for (uint32_t threads : {1u, 2u, 5u}) {
      WorkerPool pool(threads);
      CHECK(pool.size() == threads);
      for (uint64_t n : {0ull, 1ull, 7ull, 1000ull}) {
        std::vector<std::atomic<int>> hits(n);
        pool.parallel(n, 3, [](void* ctx, uint64_t begin, uint64_t end) {
          auto& h = *static_cast<std::vector<std::atomic<int>>*>(ctx);
          for (uint64_t i = begin; i < end; ++i) ++h[i];
        }, &hits);
        for (auto& h : hits) CHECK(h == 1);
      }
    }
  }

  TEST_CASE("ten thousand short loops lose no wake-up") {
    WorkerPool pool(3);
    std::atomic<uint64_t> sum{0};
    for (int i = 0; i < 10'000; ++i)
      pool.parallel(16, 1, [](void* ctx, uint64_t begin, uint64_t end) {
        *static_cast<std::atomic<uint64_t>*>(ctx) += end - begin;
      }, &sum);
    CHECK(sum == 160'000);
  }

  TEST_CASE("loops of several threads at once each visit all of their own indices") {
    constexpr int kCallers = 4, kLoops = 2000;
    constexpr uint64_t kIndices = 64;
    WorkerPool pool(3);
    std::vector<std::atomic<uint64_t>> sums(kCallers);
    std::vector<std::thread> callers;
    for (auto& sum : sums)
      callers.emplace_back([&pool, &sum] {
        for (int i = 0; i < kLoops; ++i)
          pool.parallel(kIndices, 1, [](void* ctx, uint64_t begin, uint64_t end) {
            *static_cast<std::atomic<uint64_t>*>(ctx) += end - begin;
          }, &sum);
      });
    for (auto& t : callers) t.join();
    for (auto& sum : sums) CHECK(sum == kLoops * kIndices);
  }

  TEST_CASE("a loop that finds the pool in use runs on its caller's thread") {
    struct Outer {
      WorkerPool pool{2};
      std::atomic<bool> asked{false};
      std::atomic<int> foreign{0};
    } outer;
    outer.pool.parallel(2, 1, [](void* ctx, uint64_t, uint64_t) {
      auto& o = *static_cast<Outer*>(ctx);
      if (o.asked.exchange(true)) return;
      std::thread([&o] {
        struct Inner {
          std::thread::id caller = std::this_thread::get_id();
          std::atomic<int>* foreign;
        } inner{std::this_thread::get_id(), &o.foreign};
        o.pool.parallel(100, 1, [](void* c, uint64_t, uint64_t) {
          auto& i = *static_cast<Inner*>(c);
          if (std::this_thread::get_id() != i.caller) ++*i.foreign;
        }, &inner);
      }).join();
    }, &outer);
    CHECK(outer.asked);
    CHECK(outer.foreign == 0);
  }

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they need more address space than any limit
  TEST_CASE("a system that refuses a thread is an error, and the pool's other threads end") {
    rlimit before{};
    REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
    uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    constexpr uint64_t kRoom = 64 << 20;  // stacks of a few threads, never of ten thousand
    rlimit tight{pages * 4096 + kRoom, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_AS, &tight) == 0);
    std::string message;
    try {
      WorkerPool pool(10'000);
    } catch (const convoy::Error& e) {
      message = e.what();
    }
    REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
    CHECK(message.find("of 10000 threads can be started here") != std::string::npos);
    CHECK(message.find("only 1 of") == std::string::npos);  // some had started
  }
#endif
}
