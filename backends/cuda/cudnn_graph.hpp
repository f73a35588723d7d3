// Convolutions through cuDNN's graph API: operation graph, heuristics, execution plans.
// Calls the C interface itself rather than the C++ headers on top of it: those are a download, take half a minute and
// 2 GB to compile, and hide a knob (SWAP_AB); what is used here is a dozen calls.
#pragma once

#include "plan.hpp"
#include "vendor.hpp"

#include <memory>
#include <vector>

namespace convoy::cuda {

/// Threads: one at a time. Makes cuDNN load its kernels for the calling thread's device.
class CudnnHandle {
 public:
  CudnnHandle();
  CudnnHandle(const CudnnHandle&) = delete;
  CudnnHandle& operator=(const CudnnHandle&) = delete;
  ~CudnnHandle();
  cudnnHandle_t get() const { return handle_; }

 private:
  cudnnHandle_t handle_ = nullptr;
};

/// How the steps of a fused forward convolution follow each other; which is fastest differs by shape.
enum class Epilogue { bias_then_add, add_then_bias };

/// Plans that solve exactly `p`, at most `limit`, in the heuristics' order, or only the one called `wanted` where that is
/// not empty; empty where cuDNN has none, and then
/// `reason` says why. Each keeps `handle` alive.
std::vector<std::shared_ptr<Plan>> cudnn_plans(const std::shared_ptr<CudnnHandle>& handle, const ConvProblem& p,
                                               Epilogue epilogue, int limit, const std::string& wanted, std::string& reason);

}  // namespace convoy::cuda
