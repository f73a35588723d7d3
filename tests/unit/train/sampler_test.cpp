// Order, shards and remainders of training samples.
#include "train/sampler.hpp"

#include "error.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <vector>

using namespace convoy;
using namespace convoy::train;

namespace {

/// How often each sample appears in steps [0, steps), over all ranks.
std::map<uint64_t, int> seen(uint64_t samples, uint64_t batch, uint32_t world, uint64_t steps, Remainder remainder) {
  std::map<uint64_t, int> out;
  for (uint32_t rank = 0; rank < world; ++rank) {
    Sampler sampler(samples, batch, world, 7, true, remainder);
    std::vector<SampleRef> refs(batch);
    for (uint64_t step = 0; step < steps; ++step) {
      sampler.batch(step, rank, refs);
      for (const auto& r : refs) ++out[r.sample];
    }
  }
  return out;
}

}  // namespace

TEST_SUITE("sampler") {
  TEST_CASE("every sample comes once an epoch for any world size that divides it") {
    for (uint32_t world : {1u, 2u, 3u}) {
      const auto counts = seen(36, 6, world, 36 / (6 * world), Remainder::roll_over);
      CHECK(counts.size() == 36);
      for (const auto& [sample, n] : counts) CHECK(n == 1);
    }
  }

  TEST_CASE("a remainder rolls over, so that all samples come equally often") {
    // 10 samples in batches of 4: five steps are exactly two epochs.
    const auto counts = seen(10, 4, 1, 5, Remainder::roll_over);
    CHECK(counts.size() == 10);
    for (const auto& [sample, n] : counts) CHECK(n == 2);
    Sampler sampler(10, 4, 1, 7, true, Remainder::roll_over);
    CHECK(sampler.steps_for(1) == 2);
    CHECK(sampler.left_over(1) == 2);
    CHECK(sampler.steps_for(2) == 5);
    CHECK(sampler.left_over(2) == 0);
    CHECK(sampler.steps_per_epoch() == doctest::Approx(2.5));
  }

  TEST_CASE("drop leaves the same number out of every epoch and says how many") {
    Sampler sampler(10, 4, 1, 7, true, Remainder::drop);
    CHECK(sampler.dropped_per_epoch() == 2);
    CHECK(sampler.steps_for(3) == 6);
    for (const auto& [sample, n] : seen(10, 4, 1, 2, Remainder::drop)) CHECK(n == 1);
  }

  TEST_CASE("a batch larger than the data set takes several epochs") {
    Sampler sampler(3, 8, 1, 7, true, Remainder::roll_over);
    std::vector<SampleRef> refs(8);
    sampler.batch(0, 0, refs);
    CHECK(refs[0].epoch == 0);
    CHECK(refs[7].epoch == 2);
  }

  TEST_CASE("ranks see the slices of the one global batch") {
    Sampler one(24, 6, 1, 7, true, Remainder::roll_over);
    Sampler two(24, 3, 2, 7, true, Remainder::roll_over);
    std::vector<SampleRef> whole(6), half(3);
    one.batch(2, 0, whole);
    for (uint32_t rank = 0; rank < 2; ++rank) {
      two.batch(2, rank, half);
      for (int i = 0; i < 3; ++i) CHECK(half[i].sample == whole[rank * 3 + i].sample);
    }
  }

  TEST_CASE("epochs and seeds have orders of their own, and the same one has the same") {
    const auto order = [](uint64_t seed, uint64_t epoch) {
      Sampler s(100, 100, 1, seed, true, Remainder::roll_over);
      std::vector<SampleRef> refs(100);
      s.batch(epoch, 0, refs);
      std::vector<uint64_t> out;
      for (const auto& r : refs) out.push_back(r.sample);
      return out;
    };
    CHECK(order(1, 0) == order(1, 0));
    CHECK(order(1, 0) != order(1, 1));
    CHECK(order(1, 0) != order(2, 0));
  }

  TEST_CASE("without shuffling the order is the file's") {
    Sampler s(5, 5, 1, 1, false, Remainder::roll_over);
    std::vector<SampleRef> refs(5);
    s.batch(1, 0, refs);
    for (uint64_t i = 0; i < 5; ++i) CHECK(refs[i].sample == i);
  }

  TEST_CASE("no samples and a drop of all samples are refused") {
    CHECK_THROWS_WITH_AS(Sampler(0, 4, 1, 1, true, Remainder::roll_over), "there are no samples to train on", Error);
    CHECK_THROWS_AS(Sampler(3, 4, 1, 1, true, Remainder::drop), Error);
  }

  TEST_CASE("what a counter cannot hold is refused, not wrapped") {
    const auto sampler = [](uint64_t samples) { return Sampler(samples, 16, 1, 1, true, Remainder::roll_over); };
    CHECK(sampler(64).steps_for(UINT64_MAX / 64) == UINT64_MAX / 64 * 4);
    CHECK_THROWS_AS(sampler(64).steps_for(UINT64_MAX / 64 + 1), convoy::Error);
    CHECK_THROWS_AS(sampler(64).left_over(UINT64_MAX), convoy::Error);
    CHECK_THROWS_AS(sampler(uint64_t{1} << 32), convoy::Error);
  }
}
