// Philox4x32-10 against the known answers of its authors' library (Random123, kat_vectors).
#include <convoy/sdk/philox.hpp>

#include <doctest/doctest.h>

using namespace convoy::sdk;

TEST_SUITE("philox") {
  TEST_CASE("known answers of Random123") {
    CHECK(philox4x32({0, 0, 0, 0}, 0) == PhiloxWords{0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u});
    CHECK(philox4x32({~0u, ~0u, ~0u, ~0u}, ~0ull) ==
          PhiloxWords{0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu});
    CHECK(philox4x32({0x243f6a88u, 0x85a308d3u, 0x13198a2eu, 0x03707344u}, 0x299f31d0a4093822ull) ==
          PhiloxWords{0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u});
  }

  TEST_CASE("streams of different use, epoch or sample differ") {
    const auto first = [](RandomUse use, uint32_t epoch, uint64_t sample) { return Random(1, use, epoch, sample).word(); };
    const uint32_t base = first(RandomUse::shuffle, 0, 0);
    CHECK(base == first(RandomUse::shuffle, 0, 0));
    CHECK(base != first(RandomUse::augment, 0, 0));
    CHECK(base != first(RandomUse::shuffle, 1, 0));
    CHECK(base != first(RandomUse::shuffle, 0, 1));
  }

  TEST_CASE("below stays below and reaches every value") {
    Random r(3, RandomUse::augment, 0, 0);
    int hits[5] = {};
    for (int i = 0; i < 1000; ++i) ++hits[r.below(5)];
    for (int h : hits) CHECK(h > 150);  // 200 expected, deviation 13
  }
}
