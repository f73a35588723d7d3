// Learning rates against values that PyTorch's schedulers give (MultiStepLR, CosineAnnealingLR; stepped per batch).
#include "train/schedule.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

using namespace convoy::train;

namespace {
constexpr double kRounding = 1e-12;  // a handful of double operations

ScheduleOptions with(ScheduleOptions::Kind kind) {
  ScheduleOptions o;
  o.kind = kind;
  o.base_lr = 0.4;
  return o;
}
}  // namespace

TEST_SUITE("schedule") {
  TEST_CASE("constant stays") {
    const auto o = with(ScheduleOptions::Kind::constant);
    CHECK(learning_rate(o, 0) == 0.4);
    CHECK(learning_rate(o, 1'000'000) == 0.4);
  }

  TEST_CASE("warm-up rises in equal steps and ends at the base rate") {
    auto o = with(ScheduleOptions::Kind::constant);
    o.warmup_steps = 4;
    for (int s = 0; s < 4; ++s) CHECK(learning_rate(o, s) == doctest::Approx(0.1 * (s + 1)).epsilon(kRounding));
    CHECK(learning_rate(o, 4) == 0.4);
    o.warmup_start = 0.5;
    CHECK(learning_rate(o, 0) == doctest::Approx(0.4 * (0.5 + 0.5 / 4)).epsilon(kRounding));
  }

  TEST_CASE("step multiplies by gamma at each milestone") {
    auto o = with(ScheduleOptions::Kind::step);
    o.milestones = {30, 60};
    CHECK(learning_rate(o, 29) == 0.4);
    CHECK(learning_rate(o, 30) == doctest::Approx(0.04).epsilon(kRounding));
    CHECK(learning_rate(o, 60) == doctest::Approx(0.004).epsilon(kRounding));
  }

  TEST_CASE("step multiplies by gamma at each multiple of an interval too, however many there are") {
    auto o = with(ScheduleOptions::Kind::step);
    o.every_steps = 23437.5;  // 30 epochs of 781.25 steps
    CHECK(learning_rate(o, 23437) == 0.4);
    CHECK(learning_rate(o, 23438) == doctest::Approx(0.04).epsilon(kRounding));
    CHECK(learning_rate(o, 46875) == doctest::Approx(0.004).epsilon(kRounding));
    o.every_steps = 0.1;
    CHECK(learning_rate(o, uint64_t{1} << 60) == 0.0);
  }

  TEST_CASE("cosine goes from base to final, half-way at the middle") {
    auto o = with(ScheduleOptions::Kind::cosine);
    o.total_steps = 100;
    o.final_lr = 0.1;
    CHECK(learning_rate(o, 0) == doctest::Approx(0.4).epsilon(kRounding));
    CHECK(learning_rate(o, 50) == doctest::Approx(0.25).epsilon(kRounding));
    CHECK(learning_rate(o, 25) == doctest::Approx(0.1 + 0.3 * (1 + std::sqrt(0.5)) / 2).epsilon(kRounding));
    CHECK(learning_rate(o, 100) == doctest::Approx(0.1).epsilon(kRounding));
    CHECK(learning_rate(o, 500) == doctest::Approx(0.1).epsilon(kRounding));
  }

  TEST_CASE("cosine starts behind the warm-up") {
    auto o = with(ScheduleOptions::Kind::cosine);
    o.warmup_steps = 10;
    o.total_steps = 110;
    CHECK(learning_rate(o, 9) == doctest::Approx(0.4).epsilon(kRounding));
    CHECK(learning_rate(o, 60) == doctest::Approx(0.2).epsilon(kRounding));
  }
}
