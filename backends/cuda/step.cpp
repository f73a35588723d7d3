#include "step.hpp"

#include "cuda_error.hpp"

namespace convoy::cuda {

void KernelStep::enqueue(cudaStream_t s) {
  if (const cudaError_t e = body_(Operands(addresses().data()), s); e != cudaSuccess) fail(e, label());
}

void PlanStep::enqueue(cudaStream_t s) {
  const auto& p = addresses();
  const ConvProblem& problem = choice_->problem;
  PlanArguments a{p[0], p[1], p[2], nullptr, nullptr, nullptr, p[3]};
  std::size_t next = 4;
  if (problem.bias) {
    a.bias = p[next];
    a.bias_f32 = static_cast<const float*>(p[next + 1]);
    next += 2;
  }
  if (problem.add) a.add = p[next];
  try {
    choice_->plan->enqueue(a, s);
  } catch (const sdk::Error& e) {
    throw sdk::Error(e.code(), label() + ": " + e.what());
  }
}

std::string PlanStep::label() const {
  return Step::label() + (choice_->plan ? " " + choice_->plan->tag() : "") + " " + choice_->problem.text();
}

}  // namespace convoy::cuda
