// The learning rate as a function of the step: warm-up, then constant, step or cosine.
// Stateless, so a resumed run continues by itself. Not per parameter: those factors belong to the optimiser.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace convoy::train {

struct ScheduleOptions {
  enum class Kind { constant, step, cosine } kind = Kind::constant;
  double base_lr = 0.1;
  double warmup_steps = 0;         // linear from warmup_start * base_lr to base_lr
  double warmup_start = 0;         // a fraction
  double gamma = 0.1;              // step: factor at each milestone
  std::vector<double> milestones;  // step: in steps, ascending
  double every_steps = 0;          // step: a milestone at each multiple of it too; 0 = none
  double final_lr = 0;             // cosine: reached at total_steps
  double total_steps = 0;          // cosine
};

/// Learning rate of the update in step `step`, counted from 0.
/// warm-up: base (start + (1 - start) (step + 1) / warmup_steps), so the last warm-up step has the base rate.
/// step:    base gamma^(milestones <= step), as PyTorch's MultiStepLR and StepLR.
/// cosine:  final + (base - final) (1 + cos(pi (step - warmup) / (total - warmup))) / 2, Loshchilov and Hutter
///          2017, without restarts, as PyTorch's CosineAnnealingLR stepped per batch.
double learning_rate(const ScheduleOptions& o, uint64_t step);

}  // namespace convoy::train
