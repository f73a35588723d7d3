// Recording work of a stream, and of those forked from it, as a graph that is launched as a whole.
// Used for compiled steps and behind the border's facet alike.
#pragma once

#include <cuda_runtime_api.h>

#include <utility>

namespace convoy::cuda {

/// An instantiated graph. Owns it. Movable.
class Graph {
 public:
  Graph() = default;
  explicit Graph(cudaGraphExec_t executable) : executable_(executable) {}
  Graph(Graph&& o) noexcept : executable_(std::exchange(o.executable_, nullptr)) {}
  Graph& operator=(Graph&& o) noexcept {
    std::swap(executable_, o.executable_);
    return *this;
  }
  ~Graph();

  bool exists() const { return executable_ != nullptr; }
  cudaError_t launch(cudaStream_t s) const noexcept { return cudaGraphLaunch(executable_, s); }
  cudaGraphExec_t take() { return std::exchange(executable_, nullptr); }

 private:
  cudaGraphExec_t executable_ = nullptr;
};

/// Errors: device.
void begin_capture(cudaStream_t s);
/// Errors: invalid where a forked stream was not joined; the streams then work again.
Graph end_capture(cudaStream_t s);
/// After a failure in between: throws the recording away.
void drop_capture(cudaStream_t s) noexcept;

}  // namespace convoy::cuda
