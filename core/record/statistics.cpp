// See statistics.hpp.
#include "record/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace convoy::record {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

Distribution of_sorted(std::span<const double> sorted) {
  Distribution out;
  out.count = sorted.size();
  out.min = percentile_of_sorted(sorted, 0.0);
  out.p10 = percentile_of_sorted(sorted, 0.10);
  out.p50 = percentile_of_sorted(sorted, 0.50);
  out.p90 = percentile_of_sorted(sorted, 0.90);
  out.p99 = percentile_of_sorted(sorted, 0.99);
  out.max = percentile_of_sorted(sorted, 1.0);
  return out;
}

}  // namespace

double percentile_of_sorted(std::span<const double> sorted, double q) {
  if (sorted.empty()) return kNothing;
  const double last = static_cast<double>(sorted.size() - 1);
  const double position = std::clamp(q, 0.0, 1.0) * last;
  const double below = std::floor(position);
  const auto i = static_cast<std::size_t>(below);
  if (i + 1 >= sorted.size()) return sorted.back();
  const double t = position - below;
  const double gap = sorted[i + 1] - sorted[i];
  // From the nearer neighbour, so that t near 1 gives that neighbour exactly; numpy does the same.
  return t < 0.5 ? sorted[i] + gap * t : sorted[i + 1] - gap * (1.0 - t);
}

double percentile(std::span<const double> values, double q) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return percentile_of_sorted(sorted, q);
}

double median(std::span<const double> values) { return percentile(values, 0.5); }

StepTimes::StepTimes(std::size_t capacity) : ring_(std::max<std::size_t>(capacity, 1)), scratch_(ring_.size()) {}

void StepTimes::add(double ms) noexcept {
  ring_[total_ % ring_.size()] = ms;
  ++total_;
  size_ = std::min(size_ + 1, ring_.size());
}

void StepTimes::clear() noexcept {
  size_ = 0;
  total_ = 0;
}

double StepTimes::operator[](std::size_t i) const noexcept { return ring_[(total_ - size_ + i) % ring_.size()]; }

Distribution StepTimes::distribution() noexcept {
  const auto end = std::copy_n(ring_.begin(), size_, scratch_.begin());
  std::sort(scratch_.begin(), end);
  return of_sorted(std::span(scratch_).first(size_));
}

}  // namespace convoy::record
