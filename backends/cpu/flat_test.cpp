// The own loops in every instruction set that this machine has: the same bits, at every length of a tail, also in
// place.
#include "kernels/flat.hpp"

#include <convoy/sdk/philox.hpp>

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace convoy::cpu {
namespace {

constexpr int64_t kLengths[] = {0, 1, 3, 7, 8, 15, 16, 17, 31, 63, 64, 65, 255, 256, 257, 600};

std::vector<float> numbers(uint64_t seed, int64_t n, float lo = -2, float hi = 2) {
  sdk::Random random(seed, sdk::RandomUse::synthetic, 0, 0);
  std::vector<float> out;
  for (int64_t i = 0; i < n; ++i) out.push_back(random.uniform(lo, hi));
  return out;
}

/// What a kernel does to three vectors of n numbers.
using Use = std::function<void(const FlatKernels&, float* a, float* b, float* c, int64_t n)>;

void same_bits(const std::string& what, const Use& use) {
  for (int64_t n : kLengths) {
    std::vector<float> expected;
    for (int i = 0; usable_flat(i) != nullptr; ++i) {
      const FlatKernels& k = *usable_flat(i);
      std::vector<float> a = numbers(1, n), b = numbers(2, n), c = numbers(3, n, 0.1f, 2);
      use(k, a.data(), b.data(), c.data(), n);
      std::vector<float> all = a;
      all.insert(all.end(), b.begin(), b.end());
      all.insert(all.end(), c.begin(), c.end());
      if (i == 0) expected = all;
      CHECK_MESSAGE((all.empty() || std::memcmp(all.data(), expected.data(), all.size() * sizeof(float)) == 0),
                    what << " by " << std::string(k.isa) << ", " << n << " numbers");
    }
  }
}

TEST_SUITE("cpu flat loops") {
  TEST_CASE("every instruction set gives the same bits") {
    same_bits("relu", [](const FlatKernels& k, float* a, float*, float*, int64_t n) { k.relu(a, a, n); });
    same_bits("relu_grad", [](const FlatKernels& k, float* a, float* b, float*, int64_t n) { k.relu_grad(a, a, b, n); });
    same_bits("sum of two", [](const FlatKernels& k, float* a, float* b, float*, int64_t n) {
      const float* x[] = {a, b};
      k.sum(a, x, 2, 0, n);
    });
    same_bits("sum of four over the last", [](const FlatKernels& k, float* a, float* b, float* c, int64_t n) {
      const float* x[] = {a, b, a, c};
      k.sum(c, x, 4, 0, n);
    });
    same_bits("sum_relu", [](const FlatKernels& k, float* a, float* b, float* c, int64_t n) {
      const float* x[] = {a, b, c};
      k.sum_relu(b, x, 3, 0, n);
    });
    same_bits("sum_relu_grad", [](const FlatKernels& k, float* a, float* b, float* c, int64_t n) {
      const float* x[] = {a, b};
      k.sum_relu_grad(b, x, 2, 0, c, n);
    });
    same_bits("weighted_sum", [](const FlatKernels& k, float* a, float* b, float* c, int64_t n) {
      const float* x[] = {a, b};
      const double w[] = {0.3, -1.7};
      k.weighted_sum(c, x, w, 2, 0, n);
    });
    same_bits("sgd", [](const FlatKernels& k, float* a, float* b, float* c, int64_t n) {
      k.sgd(a, b, c, n, {0.1f, 0.9f, 0.8f, 0.01f, true});
      k.sgd(a, b, c, n, {0.1f, 0.9f, 1, 0.01f, false});
      k.sgd(a, b, nullptr, n, {0.1f, 0, 1, 0.01f, false});
    });
    same_bits("adamw", [](const FlatKernels& k, float* a, float* b, float* c, int64_t n) {
      std::vector<float> v = numbers(4, n, 0, 1);
      k.adamw(a, b, c, v.data(), n, {0.01, 0.9, 0.999, 1e-8, 0.01, 0.1, 0.001});
    });
    same_bits("rmsprop", [](const FlatKernels& k, float* a, float* b, float* c, int64_t n) {
      std::vector<float> m = numbers(4, n);
      k.rmsprop(a, b, c, m.data(), n, {0.01, 0.9, 0.01, 0.9, 0.01});
    });
    same_bits("lars and ema", [](const FlatKernels& k, float* a, float* b, float* c, int64_t n) {
      k.lars(a, b, c, n, 0.9, 0.1, 0.01);
      k.ema(a, b, n, 0.99);
    });
    same_bits("totals", [](const FlatKernels& k, float* a, float* b, float*, int64_t n) {
      if (n == 0) return;
      a[0] = static_cast<float>(k.total(b, n));
      b[0] = static_cast<float>(k.squares(b, n));
    });
    same_bits("dropout", [](const FlatKernels& k, float* a, float* b, float*, int64_t n) {
      k.dropout(a, b, 8, n, {77, 3, 4, 5, 0x80000000u, 2.0f});
    });
    same_bits("lrn", [](const FlatKernels& k, float* a, float* b, float* c, int64_t n) {
      const int64_t channels = 4, area = n / channels;
      if (area == 0 || area > 64) return;
      std::vector<float> work(static_cast<std::size_t>(2 * channels * area));
      k.lrn(a, b, channels, area, area, 1, 0.1f, 0.75f, 2);
      k.lrn_grad(c, a, b, channels, area, area, 1, 0.1f, 0.75f, 2, work.data());
    });
  }

  TEST_CASE("a NaN stays a NaN in relu, and infinities and NaNs are found wherever they stand") {
    for (int i = 0; usable_flat(i) != nullptr; ++i) {
      const FlatKernels& k = *usable_flat(i);
      for (int64_t at = 0; at < 70; ++at) {
        std::vector<float> x = numbers(1, 70);
        CHECK(k.not_finite(x.data(), 70) == 0);
        x[static_cast<std::size_t>(at)] = at % 2 == 0 ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
        CHECK(k.not_finite(x.data(), 70) != 0);
        k.relu(x.data(), x.data(), 70);
        if (at % 2 != 0) CHECK(x[static_cast<std::size_t>(at)] != x[static_cast<std::size_t>(at)]);
      }
    }
  }

  TEST_CASE("dropout's words are the SDK's") {
    std::vector<float> ones(300, 1.0f), y(300);
    flat().dropout(y.data(), ones.data(), 0, 300, {0x123456789abcdefull, 9, 8, 7, 0x60000000u, 1.0f});
    for (uint32_t e = 0; e < 300; ++e) {
      const auto words = sdk::philox4x32({e / 4, 9, 8, 7}, 0x123456789abcdefull);
      CHECK(y[e] == (words[e % 4] >= 0x60000000u ? 1.0f : 0.0f));
    }
  }
}

}  // namespace
}  // namespace convoy::cpu
