// Percentiles against numpy's; the recorder against its promises.
#include "record/statistics.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <thread>

#include "allocation_count.hpp"

using namespace convoy::record;

TEST_SUITE_BEGIN("record");

TEST_CASE("percentiles are numpy's") {
  // numpy 2.4: np.percentile([...], q), printed by repr. The interpolation is the same, so are the bits.
  const std::vector<double> values{3.1, 0.2, 7.7, 5.5, 1.25, 9.0, 4.4};
  CHECK(percentile(values, 0.0) == 0.2);
  CHECK(percentile(values, 0.01) == 0.263);
  CHECK(percentile(values, 0.10) == 0.8300000000000001);
  CHECK(percentile(values, 0.25) == 2.175);
  CHECK(percentile(values, 0.90) == 8.22);
  CHECK(percentile(values, 0.99) == 8.921999999999999);
  CHECK(percentile(values, 1.0) == 9.0);
  CHECK(median(values) == 4.4);
}

TEST_CASE("percentiles of few values are those values, of none NaN") {
  CHECK(std::isnan(median({})));
  CHECK(percentile(std::vector{2.5}, 0.99) == 2.5);
  CHECK(median(std::vector{1.0, 2.0}) == 1.5);
  CHECK(median(std::vector{7.0, 7.0, 7.0}) == 7.0);
}

TEST_CASE("step times keep the last of them and allocate nothing") {
  StepTimes times(100);
  CHECK(times.distribution().count == 0);
  CHECK(std::isnan(times.distribution().p50));
  const std::size_t before = test::allocation_count();
  for (int i = 0; i < 250; ++i) times.add(i);
  const Distribution got = times.distribution();
  CHECK(test::allocation_count() == before);
  CHECK(times.size() == 100);
  CHECK(times.total() == 250);
  CHECK(times[0] == 150);
  CHECK(times[99] == 249);
  // numpy: np.percentile(np.arange(150, 250), q)
  CHECK(got.count == 100);
  CHECK(got.min == 150);
  CHECK(got.p10 == 159.9);
  CHECK(got.p50 == 199.5);
  CHECK(got.p90 == 239.10000000000002);
  CHECK(got.p99 == 248.01);
  CHECK(got.max == 249);
  times.clear();
  CHECK(times.size() == 0);
}

TEST_CASE("a stopwatch never runs backwards and its laps add up") {
  Stopwatch whole;
  Stopwatch laps;
  double sum_ms = 0;
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const double lap = laps.lap_ms();
    CHECK(lap >= 5.0);
    sum_ms += lap;
  }
  CHECK(sum_ms <= whole.elapsed_ms());  // started first, read last
  CHECK(Stopwatch::Clock::is_steady);
}

TEST_SUITE_END();
