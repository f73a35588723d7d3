// The device `cpu`: host memory, and a compiler of whole graphs over oneDNN and own vectorised loops.
// No kernels for single nodes: what it computes, it computes compiled.
#include "executable.hpp"

#include <convoy/sdk/host_device.hpp>

#include <omp.h>

#include <cstring>

namespace convoy::cpu {

namespace {

constexpr int kCachedPrimitives = 4096;  // a training step of a deep network has more than oneDNN's default of 1024

/// Sets the calling thread's number of OpenMP threads, and puts it back.
class ThreadCount {
 public:
  explicit ThreadCount(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~ThreadCount() { omp_set_num_threads(before_); }
  ThreadCount(const ThreadCount&) = delete;
  ThreadCount& operator=(const ThreadCount&) = delete;

 private:
  int before_;
};

/// What core's pool has for the calling replica; all processors where core has no pool.
int threads_of_replica() {
  auto* workers = static_cast<IWorkers*>(sdk::host().query(IWorkers::id));
  return workers == nullptr ? omp_get_num_procs() : static_cast<int>(workers->size());
}

}  // namespace

class CpuDevice final : public sdk::HostDevice, public ICompiler {
 public:
  static constexpr const char* schema = "profile : bool = false # log where the time of a step goes, when it is over";

  static void probe(ProbeResult& r) { sdk::copy_text(r.reason, sdk::cpu_name()); }

  explicit CpuDevice(const Options& o)
      : HostDevice(static_cast<uint32_t>(sdk::get(o, "ordinal", 0))), profile_(sdk::get(o, "profile", false)) {
    dnnl::set_primitive_cache_capacity(kCachedPrimitives);
  }

  void* query(const char* id) noexcept override {
    if (std::strcmp(id, ICompiler::id) == 0) return static_cast<ICompiler*>(this);
    return HostDevice::query(id);
  }
  void destroy() noexcept override { delete this; }

  Code check(const GraphView& g, INodeReport& out) noexcept override {
    return sdk::guard("cpu check", [&] {
      const ThreadCount count(threads_of_replica());
      const Compiled lowered = lower_graph(g, nullptr);
      for (uint32_t n = 0; n < lowered.notes.size(); ++n)
        sdk::check(out.note(n, lowered.notes[n].via, lowered.notes[n].group, sdk::str(lowered.notes[n].text)),
                   "note a node");
    });
  }

  /// Weight gradients of oneDNN have the same bits for the same number of threads, and own sums for any: so
  /// `deterministic` changes nothing.
  Code compile(const CompileRequest& r, IExecutable** out) noexcept override {
    return sdk::guard("cpu compile", [&] {
      const int threads = threads_of_replica();
      const ThreadCount count(threads);
      Compiled lowered = lower_graph(*r.graph, r.hooks);
      need_all_nodes(lowered);
      if (r.memory_limit != 0 && lowered.schedule.arena_bytes() > r.memory_limit)
        throw sdk::Error(Code::out_of_memory, "the step needs an arena of " +
                                                  std::to_string(lowered.schedule.arena_bytes()) + " bytes; the limit is " +
                                                  std::to_string(r.memory_limit));
      *out = new Executable(std::move(lowered), {threads, profile_});
    });
  }

 private:
  static void need_all_nodes(const Compiled& lowered) {
    if (lowered.refused == 0) return;
    std::string reasons;
    for (uint32_t n = 0; n < lowered.notes.size(); ++n)
      if (lowered.notes[n].via == Via::refused)
        reasons += (reasons.empty() ? "" : "; ") + lowered.graph->name(n) + " " + lowered.notes[n].text;
    throw sdk::Error(Code::unsupported, reasons);
  }

  bool profile_;
};

}  // namespace convoy::cpu

CONVOY_PLUGIN(device, convoy::cpu::CpuDevice, "cpu")
