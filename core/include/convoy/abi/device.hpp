// Devices: memory, streams and events; then kernels for single nodes, a compiler for whole graphs, or both.
// A device is one piece of hardware for one replica; no executable spans two. Which data moves between ranks
// is not a device's affair.
#pragma once

#include "graph.hpp"

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
#endif

namespace convoy {
inline namespace abi1 {

struct DeviceInfo {
  uint32_t struct_size;
  uint32_t ordinal;
  char name[64];         // "NVIDIA H200", the processor's model name; terminated
  char uuid[40];         // terminated, empty where there is none
  uint64_t total_bytes;  // memory; 0 = unknown
  uint64_t free_bytes;
  uint32_t dtypes;       // mask of DType that kernels accept
  uint32_t mem_kinds;    // mask of Mem that alloc() accepts
  uint32_t async;        // 1: work in streams runs apart from the host thread
  uint32_t tf32;         // 1: products of f32 may be computed from mantissas of 10 bits, if the user wants
};

/// Level 0: every device has it. Threads: any; a given stream from one thread at a time.
struct IDevice : IObject {
  static constexpr const char* id = "convoy.device.1";

  virtual Code info(DeviceInfo* out) noexcept = 0;
  /// At least `bytes` (0 is allowed and gives a buffer that may be freed), aligned to `align`, a power of two
  /// up to 4096. Contents undefined. Errors: out_of_memory, with nothing allocated.
  virtual Code alloc(uint64_t bytes, uint64_t align, Mem m, Buffer* out) noexcept = 0;
  /// All work on it must have ended.
  virtual void free(const Buffer& b) noexcept = 0;
  /// `priority`: 0 normal, negative more urgent. A device may ignore it.
  virtual Code stream_new(int32_t priority, Stream* out) noexcept = 0;
  virtual void stream_free(Stream s) noexcept = 0;
  /// timing = 1: elapsed_us() may be asked about it.
  virtual Code event_new(uint32_t timing, Event* out) noexcept = 0;
  virtual void event_free(Event e) noexcept = 0;
  /// Moves `e` to the present end of `s`. Legal while capturing.
  virtual Code record(Event e, Stream s) noexcept = 0;
  /// Later work in `s` starts after the last record of `e`; never recorded = no wait. Device-side: does not
  /// block the host. Legal while capturing.
  virtual Code wait(Stream s, Event e) noexcept = 0;
  /// ok, not_ready, or the failure of work before `e`.
  virtual Code done(Event e) noexcept = 0;
  /// The only wait on the host. Errors: timeout; the failure of work before `e`.
  virtual Code sync(Event e, uint32_t timeout_ms) noexcept = 0;
  /// Microseconds of device time from `a` to `b`; both done, both made with timing.
  virtual Code elapsed_us(Event a, Event b, double* us) noexcept = 0;
  /// Between any kinds of memory of this device, host memory included, which must stay valid until done.
  virtual Code copy(Stream s, const Buffer& dst, uint64_t dst_off, const Buffer& src, uint64_t src_off,
                    uint64_t n) noexcept = 0;
  virtual Code fill(Stream s, const Buffer& dst, uint64_t off, uint64_t n, uint32_t byte) noexcept = 0;
  /// The vendor's own handle behind a stream, typed by its tag ("<vendor>.stream"). Errors: unsupported. Enqueue
  /// only: never synchronise, destroy or change it.
  virtual Code native(Stream s, const char* tag, void** out) noexcept = 0;
};

/// Facet of IDevice: lets the core capture a stitched step, streams forked by record and wait included.
struct ICapture : IObject {
  static constexpr const char* id = "convoy.capture.1";

  virtual Code begin(Stream s) noexcept = 0;
  /// Every stream that was forked from `s` must have been joined again.
  virtual Code end(Stream s, uint64_t* graph) noexcept = 0;
  virtual Code replay(uint64_t graph, Stream s) noexcept = 0;
  virtual void drop(uint64_t graph) noexcept = 0;
};

/// Facet of IDevice: arithmetic on raw buffers, for rings, servers and wire types. Offsets in bytes, counts in
/// elements. Where it is absent, the SDK stages through the host.
struct IVectorOps : IObject {
  static constexpr const char* id = "convoy.vector.1";

  virtual Code add(Stream s, const Buffer& dst, uint64_t dst_off, const Buffer& src, uint64_t src_off,
                   uint64_t count, DType t) noexcept = 0;
  virtual Code scale(Stream s, const Buffer& b, uint64_t off, uint64_t count, DType t, double k) noexcept = 0;
  virtual Code cast(Stream s, const Buffer& dst, uint64_t dst_off, DType to, const Buffer& src,
                    uint64_t src_off, DType from, uint64_t count) noexcept = 0;
};

/// Whether a node can run, and if not, why: never a bare no.
struct Support {
  uint32_t struct_size;
  Code code;         // ok or unsupported
  char reason[160];  // "only 2x2 windows"; terminated; empty where ok
};

/// The memory of a value.
struct Binding {
  Value v;
  uint32_t pad;
  void* ptr;  // the device's address; null for an absent optional input
};

/// One node at a time: the core orders the nodes, plans memory and launches. Tensors are contiguous in their
/// logical layout. Enough for a useful backend, and the form of the reference.
struct IKernels : IObject {
  static constexpr const char* id = "convoy.kernels.1";

  /// Sees the node with its shapes. Returns ok unless the call itself failed; the answer is in `out`.
  virtual Code supports(const GraphView& g, uint32_t node, Support* out) noexcept = 0;
  /// `workspace`: bytes that launch() needs, aligned to 64. `kernel`: a handle for it.
  virtual Code prepare(const GraphView& g, uint32_t node, uint64_t* workspace, uint64_t* kernel) noexcept = 0;
  /// Enqueues only. `io`: the node's inputs, then its outputs, in its order. An output may share its memory
  /// with the input that it is alias_of. Allocates nothing.
  virtual Code launch(uint64_t kernel, Stream s, Span<const Binding> io, void* workspace) noexcept = 0;
  virtual void release(uint64_t kernel) noexcept = 0;
};

/// The core's hooks, called while a step is being enqueued (or captured), on the thread of run() or bind().
/// They may enqueue and never block.
struct IStepHooks {
  /// Every gradient of the bucket is complete once `producer` gets here.
  virtual Code grads_ready(uint32_t bucket, Stream producer) noexcept = 0;
  /// The next use of the bucket's parameters goes on `consumer`.
  virtual Code params_needed(uint32_t bucket, Stream consumer) noexcept = 0;

 protected:
  ~IStepHooks() = default;
};

/// How a node runs.
enum class Via : uint32_t {
  fused = 1,    // together with others of its group, in one kernel
  kernel = 2,   // a kernel of its own
  view = 3,     // no work: a reinterpretation, or written in place by its producer
  refused = 4,
};

/// Collects one note per node.
struct INodeReport {
  /// `group`: nodes of one group share a kernel. `text`: how, or why not.
  virtual Code note(uint32_t node, Via via, uint32_t group, Str text) noexcept = 0;

 protected:
  ~INodeReport() = default;
};

struct CompileRequest {
  uint32_t struct_size;
  uint32_t hooks_capturable;  // 1: hooks may be called while capturing
  uint32_t deterministic;     // 1: same bits for the same input, run to run
  uint32_t pad;
  const GraphView* graph;     // valid until the executable is destroyed
  uint64_t memory_limit;      // bytes of arena; 0 = what the device has
  IStepHooks* hooks;          // null where the graph has no markers
};

struct MemoryReport {
  uint32_t struct_size;
  uint32_t n_kernels;
  uint64_t arena_bytes;      // what bind() must be given
  uint64_t workspace_bytes;  // part of the arena: scratch of kernels
  uint64_t saved_bytes;      // part of the arena: kept from forward to backward
};

/// A compiled graph. Driven by its replica's thread.
struct IExecutable : IObject {
  static constexpr const char* id = "convoy.executable.1";

  virtual Code memory(MemoryReport* out) noexcept = 0;
  /// What was built: one note per node.
  virtual Code describe(INodeReport& out) noexcept = 0;
  /// `arena`: arena_bytes of device memory aligned to 4096, the executable's alone. `boundary`: one row for
  /// each boundary value, but for those with alias_of >= 0, which live where the value they update lives.
  /// Addresses are fixed until destroy(). May capture, and then calls the hooks. Called once.
  virtual Code bind(void* arena, Span<const Binding> boundary) noexcept = 0;
  /// Parameters, states or frozen values were changed from outside (weights loaded, another executable ran on
  /// the same memory): copies made of them, such as folded or re-laid weights, are rebuilt. Enqueues only.
  virtual Code refresh(Stream s) noexcept = 0;
  /// Enqueues one step: no allocation, no wait on the host. refresh() comes before the first one.
  virtual Code run(Stream s, uint64_t step) noexcept = 0;
  /// Physical layout of a boundary value, "nchw", "krsc"; lives as long as the executable. A layout is a
  /// permutation of the logical elements without padding, and depends on the value's description only, so
  /// that several executables of one device share the memory of parameters and states.
  virtual Code value_layout(Value v, Str* tag) noexcept = 0;
  /// A boundary value as contiguous f32 (integers: their own type) in logical layout in host memory, for
  /// checkpoints, gates and tests. Enqueues; the memory is valid to read after an event behind it.
  virtual Code export_value(Value v, Stream s, void* canonical) noexcept = 0;
  /// The reverse.
  virtual Code import_value(Value v, Stream s, const void* canonical) noexcept = 0;
};

/// The whole graph at once, on this device alone.
struct ICompiler : IObject {
  static constexpr const char* id = "convoy.compiler.1";

  /// One note per node, without device work. Any refused node means that compile() would fail.
  virtual Code check(const GraphView& g, INodeReport& out) noexcept = 0;
  virtual Code compile(const CompileRequest& r, IExecutable** out) noexcept = 0;
};

}  // namespace abi1
}  // namespace convoy

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
