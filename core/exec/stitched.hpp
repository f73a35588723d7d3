// The core's own executable: a backend's single-node kernels in graph order on one stream.
// No fusion and no layouts: what a backend with kernels only gets, and what compiled graphs are compared with.
#pragma once

#include "exec/device.hpp"

#include <convoy/abi.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace convoy::exec {

/// Implements the same interface as a backend's compiler would hand out, in canonical layout.
/// Threads: its replica's. Errors: codes, with the kernel's message at the host.
class StitchedExecutable final : public IExecutable {
 public:
  /// Prepares every node. `view` and `device` outlive the executable. Throws plugin::Error P501 listing every
  /// node that the device refuses.
  StitchedExecutable(const Device& device, const GraphView& view, IStepHooks* hooks);
  ~StitchedExecutable();

  /// The buffers behind the rows that bind() will get, by value; export and import copy through them.
  void set_buffers(std::vector<Buffer> by_value) { buffers_ = std::move(by_value); }

  void* query(const char* id) noexcept override;
  void destroy() noexcept override { delete this; }
  Code memory(MemoryReport* out) noexcept override;
  Code describe(INodeReport& out) noexcept override;
  Code bind(void* arena, Span<const Binding> boundary) noexcept override;
  Code refresh(Stream) noexcept override { return Code::ok; }  // keeps no copies of parameters
  Code run(Stream s, uint64_t step) noexcept override;
  Code value_layout(Value v, Str* tag) noexcept override;
  Code export_value(Value v, Stream s, void* canonical) noexcept override;
  Code import_value(Value v, Stream s, const void* canonical) noexcept override;

 private:
  struct Launch {
    uint32_t node = 0;
    uint64_t kernel = 0;
    uint64_t workspace = 0;
    uint64_t first_binding = 0;
    uint64_t n_bindings = 0;
  };

  void prepare_nodes();
  void plan_memory();
  Code run_marker(const NodeDesc& n, Stream s) noexcept;

  const Device& device_;
  const GraphView& view_;
  IStepHooks* hooks_;
  std::vector<Launch> launches_;
  std::vector<Binding> bindings_;   // of all launches, inputs then outputs
  std::vector<int64_t> offsets_;    // arena offset by value, -1 = boundary
  std::vector<Buffer> buffers_;     // by value
  void* workspace_ = nullptr;
  uint64_t arena_bytes_ = 0;
  uint64_t workspace_bytes_ = 0;
  uint64_t workspace_offset_ = 0;
};

/// The list of nodes that cannot run, as error P501.
struct Refusal {
  uint32_t node;
  std::string reason;
};
[[noreturn]] void throw_refused(const Device& device, const GraphView& view, const std::vector<Refusal>& refusals);

/// "b3.pool (max_pool (2,16,9,9) -> (2,16,4,4))": a node in a message.
std::string describe_node(const GraphView& view, uint32_t node);

}  // namespace convoy::exec
