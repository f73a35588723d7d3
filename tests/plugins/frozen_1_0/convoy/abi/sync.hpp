// Sync strategy: how ranks agree on one gradient, or one set of parameters.
// Not a transport: bytes move through IComm. Not a timer: the core measures.
#pragma once

#include "comm.hpp"

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
#endif

namespace convoy {
inline namespace abi1 {

struct ParamRow {
  Value param;
  Value grad;
  uint64_t bytes;        // of the gradient, f32
  uint32_t ready_order;  // 0 = its gradient is complete first
  uint32_t pad;
};

struct SyncInputs {
  uint32_t struct_size;
  uint32_t rank;
  uint32_t world;
  uint32_t pad;
  Rows<ParamRow> params;
  const CommInfo* comm;
};

/// Where a bucket's parameters are updated.
enum class Where : uint32_t { local = 1, sharded = 2, server = 3 };

/// Takes the strategy's plan. Every rank must make the same calls: they are hashed and compared.
struct IPlan {
  /// The next bucket: its gradients in order, its type on the wire, and whether the backend's own layout may
  /// travel (1, all ranks run the same build) or the logical one must (0).
  virtual Code bucket(uint32_t bucket, Span<const Value> grads, DType wire, uint32_t native_layout) noexcept = 0;
  virtual Code update_at(uint32_t bucket, Where w, uint32_t server_rank) noexcept = 0;
  /// `rank` runs serve(); dedicated = 1: and trains nothing.
  virtual Code server(uint32_t rank, uint32_t dedicated) noexcept = 0;
  /// One more communicator, over these ranks.
  virtual Code channel(Span<const uint32_t> ranks) noexcept = 0;
  /// required = 1: the strategy decides per step, so its hooks must never be captured.
  virtual Code live_hooks(uint32_t required) noexcept = 0;

 protected:
  ~IPlan() = default;
};

/// The compiled update of one bucket, or of this rank's shard of it.
struct IUpdate {
  virtual Code run(uint32_t bucket, Stream s) noexcept = 0;

 protected:
  ~IUpdate() = default;
};

struct SyncContext {
  uint32_t struct_size;
  uint32_t pad;
  IDevice* device;
  IComm* comm;
  ICollectives* collectives;    // null where the transport has none
  IUpdate* update;
  Rows<Buffer> grad_buckets;
  Rows<Buffer> param_buckets;
  Span<IComm* const> channels;  // in plan order; null where this rank is no member
};

/// Owns: nothing it is given. Threads: the replica's driver thread, but for serve().
struct ISync : IObject {
  static constexpr const char* id = "convoy.sync.1";

  /// Before compilation.
  virtual Code plan(const SyncInputs& in, IPlan& out) noexcept = 0;
  /// After compilation, before the first step. `c` stays valid until destroy().
  virtual Code attach(const SyncContext& c) noexcept = 0;
  /// While a step is being enqueued, as soon as `bucket` is complete on `producer`. Enqueue only: never block,
  /// allocate or look at the device; may be running under capture. Buckets arrive in plan order on every rank.
  virtual Code grads_ready(uint32_t bucket, Stream producer) noexcept = 0;
  /// Makes `consumer` wait until the bucket may be used: its gradients hold the mean over ranks, weighted by
  /// samples, or its parameters are current.
  virtual Code params_needed(uint32_t bucket, Stream consumer) noexcept = 0;
  /// After a step was enqueued.
  virtual Code step_end(uint64_t step) noexcept = 0;
  /// A server's loop on a thread of its own; returns when *stop, read atomically, is not 0. Errors:
  /// unsupported where the strategy has no server.
  virtual Code serve(const uint32_t* stop) noexcept = 0;
};

struct StateRow {
  Str name;
  Buffer buffer;
  DType dtype;
  uint32_t pad;
  uint64_t count;  // elements
};

/// Facet of ISync: what a checkpoint must hold, residuals and clocks.
struct IState : IObject {
  static constexpr const char* id = "convoy.state.1";

  virtual Code rows(Rows<StateRow>* out) noexcept = 0;
};

}  // namespace abi1
}  // namespace convoy

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
