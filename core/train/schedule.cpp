#include "train/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace convoy::train {

namespace {

double cosine(const ScheduleOptions& o, double step) {
  const double span = std::max(1.0, o.total_steps - o.warmup_steps);
  const double t = std::clamp((step - o.warmup_steps) / span, 0.0, 1.0);
  return o.final_lr + (o.base_lr - o.final_lr) * (1 + std::cos(std::numbers::pi * t)) / 2;
}

constexpr double kRounding = 1e-9;  // a step that is a milestone up to rounding is one

double stepped(const ScheduleOptions& o, double step) {
  double lr = o.base_lr;
  for (double m : o.milestones) lr *= step >= m ? o.gamma : 1.0;
  if (o.every_steps > 0) lr *= std::pow(o.gamma, std::floor(step / o.every_steps + kRounding));
  return lr;
}

}  // namespace

double learning_rate(const ScheduleOptions& o, uint64_t step) {
  const auto s = static_cast<double>(step);
  if (s < o.warmup_steps) {
    const double fraction = std::min(1.0, (s + 1) / o.warmup_steps);
    return o.base_lr * (o.warmup_start + (1 - o.warmup_start) * fraction);
  }
  switch (o.kind) {
    case ScheduleOptions::Kind::step: return stepped(o, s);
    case ScheduleOptions::Kind::cosine: return cosine(o, s);
    case ScheduleOptions::Kind::constant: break;
  }
  return o.base_lr;
}

}  // namespace convoy::train
