#include "capture.hpp"

#include "cuda_error.hpp"

namespace convoy::cuda {

Graph::~Graph() {
  if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
}

/// Relaxed: libraries load their kernels on the way, which other modes forbid.
void begin_capture(cudaStream_t s) { check(cudaStreamBeginCapture(s, cudaStreamCaptureModeRelaxed), "begin a capture"); }

Graph end_capture(cudaStream_t s) {
  cudaGraph_t recorded = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(s, &recorded);
  if (ended != cudaSuccess) {
    cudaGetLastError();
    throw sdk::Error(Code::invalid, "the captured work cannot be replayed, a forked stream was not joined perhaps: " + error_text(ended));
  }
  cudaGraphExec_t executable = nullptr;
  const cudaError_t made = cudaGraphInstantiate(&executable, recorded, 0);
  cudaGraphDestroy(recorded);
  check(made, "instantiate a captured graph");
  return Graph(executable);
}

void drop_capture(cudaStream_t s) noexcept {
  cudaGraph_t recorded = nullptr;
  cudaStreamEndCapture(s, &recorded);
  if (recorded != nullptr) cudaGraphDestroy(recorded);
  cudaGetLastError();
}

}  // namespace convoy::cuda
