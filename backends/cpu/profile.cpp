#include "profile.hpp"

#include <convoy/sdk/plugin.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>

namespace convoy::cpu {

namespace {

constexpr std::size_t kStepsShown = 20;
constexpr uint32_t kInfo = 2;  // IHost::log's level

void line(double ms, double share, const std::string& what) {
  char text[256];
  std::snprintf(text, sizeof text, "%9.3f ms %5.1f %%  %s", ms, share * 100, what.c_str());
  sdk::host().log(kInfo, sdk::str("cpu profile"), sdk::str(text));
}

/// "layer1.0.conv1 jit:avx512_core" -> "jit:avx512_core".
std::string kind_of(const std::string& label) { return label.substr(label.find(' ') + 1); }

}  // namespace

Code Profile::run(const std::vector<std::unique_ptr<Step>>& steps, Stream s) noexcept {
  ++runs_;
  auto before = std::chrono::steady_clock::now();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (const Code c = steps[i]->run(s); c != Code::ok) return c;
    const auto after = std::chrono::steady_clock::now();
    seconds_[i] += std::chrono::duration<double>(after - before).count();
    before = after;
  }
  return Code::ok;
}

void Profile::report(const std::vector<std::unique_ptr<Step>>& steps) const {
  if (runs_ == 0) return;
  double total = 0;
  std::map<std::string, double> kinds;
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    total += seconds_[i];
    kinds[kind_of(steps[i]->label())] += seconds_[i];
    order.emplace_back(seconds_[i], i);
  }
  const double ms = 1000.0 / static_cast<double>(runs_);
  line(total * ms, 1, "a step, mean of " + std::to_string(runs_));
  std::vector<std::pair<double, std::string>> by_kind;
  for (const auto& [kind, seconds] : kinds) by_kind.emplace_back(seconds, kind);
  std::sort(by_kind.rbegin(), by_kind.rend());
  for (const auto& [seconds, kind] : by_kind) line(seconds * ms, seconds / total, "all " + kind);
  std::sort(order.rbegin(), order.rend());
  for (std::size_t i = 0; i < std::min(kStepsShown, order.size()); ++i)
    line(order[i].first * ms, order[i].first / total, steps[order[i].second]->label());
}

}  // namespace convoy::cpu
