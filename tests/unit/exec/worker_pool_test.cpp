// The pool: every index once, for any size, again and again.
#include "exec/worker_pool.hpp"

#include <doctest/doctest.h>

#include <atomic>
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
}
