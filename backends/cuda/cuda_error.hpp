// Turns error codes of the CUDA runtime into the border's own.
// cuDNN's and cuBLASLt's are translated where those libraries are called.
#pragma once

#include <convoy/sdk/plugin.hpp>

#include <cuda_runtime_api.h>

#include <string>

namespace convoy::cuda {

/// "no kernel image is available (cudaErrorNoKernelImageForDevice)".
inline std::string error_text(cudaError_t e) {
  return std::string(cudaGetErrorString(e)) + " (" + cudaGetErrorName(e) + ")";
}

inline Code code_of(cudaError_t e) {
  switch (e) {
    case cudaSuccess: return Code::ok;
    case cudaErrorMemoryAllocation: return Code::out_of_memory;
    case cudaErrorNotReady: return Code::not_ready;
    default: return Code::device;
  }
}

/// Throws sdk::Error where `e` is a failure; `what` says what was being done. Clears an error that does not stick.
inline void check(cudaError_t e, const std::string& what) {
  if (e == cudaSuccess) return;
  cudaGetLastError();
  throw sdk::Error(code_of(e), what + ": " + error_text(e));
}

}  // namespace convoy::cuda
