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

/// Throws sdk::Error for a failure; `what` says what was being done. Clears an error that does not stick.
[[noreturn]] inline void fail(cudaError_t e, const std::string& what) {
  cudaGetLastError();
  throw sdk::Error(code_of(e), what + ": " + error_text(e));
}

/// fail() where `e` is a failure. Allocates nothing where it is none: steps call this.
inline void check(cudaError_t e, const char* what) {
  if (e != cudaSuccess) fail(e, what);
}

}  // namespace convoy::cuda
