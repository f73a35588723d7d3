// Which plan solves a problem best on this device: collects distinct problems while a graph is lowered, then builds
// candidates on all processors and times them, one after the other, on scratch memory.
#pragma once

#include "cudnn_graph.hpp"
#include "matmul.hpp"
#include "plan.hpp"
#include "settings.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace convoy::cuda {

/// A problem and, once searched, the plan that won.
struct Choice {
  ConvProblem problem;
  std::shared_ptr<Plan> plan;
  double us = 0;   // 0 where it was not timed
  int tried = 0;
};

/// Threads: one at a time.
class PlanSearch {
 public:
  explicit PlanSearch(const Settings& settings) : settings_(settings) {}

  /// The choice for this problem; equal problems share one. Does no device work.
  std::shared_ptr<const Choice> add(const ConvProblem& p);
  /// Finds a plan for every problem that has none yet. Errors: unsupported, naming the problem; those of the device.
  void run();

 private:
  Settings settings_;
  std::map<std::string, std::shared_ptr<Choice>> choices_;
};

}  // namespace convoy::cuda
