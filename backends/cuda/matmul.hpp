// Matrix products through cuBLASLt: linear layers and 1x1 convolutions, with bias, residual and ReLU in the epilogue.
#pragma once

#include "plan.hpp"
#include "vendor.hpp"

#include <memory>
#include <vector>

namespace convoy::cuda {

/// Threads: any; matrix products of one handle may be enqueued from several.
class MatmulHandle {
 public:
  MatmulHandle();
  MatmulHandle(const MatmulHandle&) = delete;
  MatmulHandle& operator=(const MatmulHandle&) = delete;
  ~MatmulHandle();
  cublasLtHandle_t get() const { return handle_; }

 private:
  cublasLtHandle_t handle_ = nullptr;
};

/// Plans that solve exactly `p`, at most `limit`, in the heuristic's order; empty where cuBLASLt has none, or `p` is no
/// product, and then `reason` says why. Each keeps `handle` alive.
std::vector<std::shared_ptr<Plan>> matmul_plans(const std::shared_ptr<MatmulHandle>& handle, const ConvProblem& p, int limit,
                                                std::string& reason);

}  // namespace convoy::cuda
