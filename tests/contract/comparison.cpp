#include "comparison.hpp"

#include <cmath>
#include <fmt/format.h>

namespace convoy::contract {

double nmse(const std::vector<double>& found, const std::vector<double>& truth) {
  if (found.size() != truth.size()) return HUGE_VAL;
  double error = 0, power = 0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (std::isnan(found[i]) && std::isnan(truth[i])) continue;
    error += (found[i] - truth[i]) * (found[i] - truth[i]);
    power += truth[i] * truth[i];
  }
  return power > 0 ? error / power : error / static_cast<double>(truth.empty() ? 1 : truth.size());
}

std::string worst_element(const std::vector<double>& found, const std::vector<double>& truth) {
  if (found.size() != truth.size()) return fmt::format("{} elements instead of {}", found.size(), truth.size());
  std::size_t worst = 0;
  double most = -1;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const bool one_nan = std::isnan(found[i]) != std::isnan(truth[i]), both = std::isnan(found[i]) && std::isnan(truth[i]);
    const double off = one_nan ? HUGE_VAL : both ? 0 : std::fabs(found[i] - truth[i]);
    if (off <= most) continue;
    most = off;
    worst = i;
  }
  if (truth.empty()) return "no elements";
  return fmt::format("element {} of {} is {} and should be {}", worst, truth.size(), found[worst], truth[worst]);
}

}  // namespace convoy::contract
