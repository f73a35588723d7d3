// Time and what to say about many times: medians and percentiles, not means.
// Host clock only; events on a device are the device's affair.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace convoy::record {

/// The value below which a fraction `q` (0..1) of `sorted` (ascending) lies, with linear interpolation between
/// neighbours, as numpy does by default. NaN where `sorted` is empty. Allocates nothing.
double percentile_of_sorted(std::span<const double> sorted, double q);
/// The same for values in any order; copies them.
double percentile(std::span<const double> values, double q);
double median(std::span<const double> values);

/// A distribution in a few numbers; all NaN where `count` is 0.
struct Distribution {
  std::uint64_t count = 0;
  double min = 0;
  double p10 = 0;
  double p50 = 0;
  double p90 = 0;
  double p99 = 0;
  double max = 0;
};

/// The last `capacity` durations. Allocates in the constructor only, so it may stand in the step.
/// Threads: one.
class StepTimes {
 public:
  explicit StepTimes(std::size_t capacity);

  /// The oldest value is forgotten where there is no room.
  void add(double ms) noexcept;
  void clear() noexcept;
  /// Values held now: at most the capacity.
  std::size_t size() const noexcept { return size_; }
  /// Values ever added since construction or clear().
  std::uint64_t total() const noexcept { return total_; }
  /// Values held now, oldest first. `i` < size().
  double operator[](std::size_t i) const noexcept;
  /// Of the values held now. Sorts a copy in memory set aside for it.
  Distribution distribution() noexcept;

 private:
  std::vector<double> ring_;
  std::vector<double> scratch_;
  std::size_t size_ = 0;
  std::uint64_t total_ = 0;
};

/// Runs from construction or restart(), on the clock that never jumps.
class Stopwatch {
 public:
  using Clock = std::chrono::steady_clock;

  void restart() noexcept { start_ = Clock::now(); }
  double elapsed_s() const noexcept { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double elapsed_ms() const noexcept { return elapsed_s() * 1e3; }
  /// Milliseconds since the start, and starts again at the same instant, so that laps add up without a gap.
  double lap_ms() noexcept {
    const auto now = Clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - start_).count();
    start_ = now;
    return ms;
  }

 private:
  Clock::time_point start_ = Clock::now();
};

}  // namespace convoy::record
