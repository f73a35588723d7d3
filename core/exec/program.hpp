// A graph made runnable on one device: executable, arena and boundary memory together.
// Not the loop that runs it, and not the choice of the device.
#pragma once

#include "exec/device.hpp"
#include "exec/parameter_store.hpp"
#include "ir/graph.hpp"
#include "owned.hpp"

#include <memory>
#include <string>
#include <vector>

namespace convoy::exec {

struct ProgramOptions {
  std::string execution;       // "compiled", "stitched", or "" = compiled where the device has a compiler
  bool deterministic = false;
  IStepHooks* hooks = nullptr;
};

/// How many nodes run in which way.
struct Coverage {
  uint32_t nodes = 0;
  uint32_t fused = 0;
  uint32_t own = 0;    // a kernel each
  uint32_t views = 0;
};

/// Owns executable, arena, gradients, inputs and outputs. `device` and `store` outlive it.
/// Threads: the replica's. Errors: P501 where the device refuses nodes; plugin errors with the device's words.
class Program {
 public:
  Program(const Device& device, const ir::Graph& graph, ParameterStore& store, const ProgramOptions& options);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const GraphView& view() const { return flat_->view(); }
  const Buffer& buffer(Value v) const { return buffers_[v]; }
  uint64_t bytes(Value v) const { return buffers_[v].bytes; }
  bool compiled() const { return compiled_; }
  const MemoryReport& memory() const { return memory_; }
  /// Arena, gradients, inputs and outputs; parameters are the store's.
  uint64_t device_bytes() const { return device_bytes_; }
  Coverage coverage() const;
  /// "nodes 84/84 on cpu · compiled · 60 fused, 20 own kernels, 4 views · arena 12.0 MiB".
  std::string coverage_line() const;

  /// Enqueues a copy of `n` bytes into an input, or out of an output.
  void write(Value v, const Buffer& src, uint64_t src_off, uint64_t n, Stream s);
  void read(Value v, const Buffer& dst, uint64_t dst_off, uint64_t n, Stream s);
  /// After parameters or states were changed from outside, and before the first run.
  void refresh(Stream s);
  void run(Stream s, uint64_t step);

  /// A boundary value in logical layout, waited for. f32 values only.
  std::vector<float> export_f32(Value v, Stream s) const;
  void import_f32(Value v, const std::vector<float>& values, Stream s);

 private:
  void make_executable(const ProgramOptions& options);
  void allocate(const ir::Graph& graph, ParameterStore& store);
  void bind();
  void wait(Stream s) const;

  const Device& device_;
  std::unique_ptr<ir::FlatGraph> flat_;
  std::vector<DeviceBuffer> memory_of_values_;
  std::vector<Buffer> buffers_;  // by value; empty for activations
  DeviceBuffer arena_;
  Owned<IExecutable> executable_;
  MemoryReport memory_{};
  uint64_t device_bytes_ = 0;
  bool compiled_ = false;
};

}  // namespace convoy::exec
