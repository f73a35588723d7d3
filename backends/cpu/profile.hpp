// Where the time of a step goes, by step, for the option `profile`. Not the run's own timing, which core measures.
#pragma once

#include "step.hpp"

#include <memory>
#include <vector>

namespace convoy::cpu {

class Profile {
 public:
  explicit Profile(std::size_t steps) : seconds_(steps, 0.0) {}

  /// Runs the steps and adds their times.
  Code run(const std::vector<std::unique_ptr<Step>>& steps, Stream s) noexcept;
  /// Logs the sums by kind of work, then the steps that took longest.
  void report(const std::vector<std::unique_ptr<Step>>& steps) const;

 private:
  std::vector<double> seconds_;  // by step, over all runs
  uint64_t runs_ = 0;
};

}  // namespace convoy::cpu
