// A compiled graph on one device: its steps, bound to memory, recorded as CUDA graphs between the calls of the core's
// hooks and replayed.
#pragma once

#include "capture.hpp"
#include "compiler.hpp"

#include <convoy/sdk/plugin.hpp>

#include <memory>
#include <vector>

namespace convoy::cuda {

/// Threads: one at a time.
class Executable final : public sdk::Object<IExecutable> {
 public:
  /// `compiled` has no refused node, all plans, and planned memory. `hooks` may be null: markers then do nothing.
  Executable(Compiled compiled, const Settings& settings, IStepHooks* hooks);
  ~Executable() override;

  Code memory(MemoryReport* out) noexcept override;
  Code describe(INodeReport& out) noexcept override;
  Code bind(void* arena, Span<const Binding> boundary) noexcept override;
  Code refresh(Stream s) noexcept override;
  /// The first one enqueues step by step, so that libraries load what they need, and records on the way out.
  Code run(Stream s, uint64_t step) noexcept override;
  Code value_layout(Value v, Str* tag) noexcept override;
  Code export_value(Value v, Stream s, void* canonical) noexcept override;
  Code import_value(Value v, Stream s, const void* canonical) noexcept override;

 private:
  /// Steps between two calls of hooks.
  struct Segment {
    std::size_t begin = 0, end = 0;  // steps
    const Marker* marker = nullptr;  // behind them; null at the end
    Graph graph;
  };

  template <class F>
  Code on_device(const char* where, F&& body) noexcept;
  void split_into_segments();
  void enqueue(const Segment& segment, cudaStream_t s);
  void record(cudaStream_t s);
  void call_hook(const Segment& segment, Stream s);
  void* home(Value v) const;
  void* staging(Value v, const char* what);
  void log_profile(cudaStream_t s);

  Compiled compiled_;
  Settings settings_;
  IStepHooks* hooks_;
  std::vector<void*> boundary_;  // by value; null before bind()
  void* staging_memory_ = nullptr;
  std::vector<Segment> segments_;
  bool recorded_ = false;
  uint64_t runs_ = 0;
};

}  // namespace convoy::cuda
