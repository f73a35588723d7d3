// Communication: a transport connects ranks, a communicator moves bytes between them in order.
// Not a strategy: what is sent when is ISync's affair. Not a launcher: processes are the core's.
#pragma once

#include "device.hpp"

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
#endif

namespace convoy {
inline namespace abi1 {

/// A small all-gather over the ranks of one communicator, for ids and addresses.
struct IMeet {
  /// `all` takes world * n bytes, in order of ranks. Errors: timeout, naming who is missing.
  virtual Code all_gather(const void* mine, uint64_t n, void* all, uint32_t timeout_ms) noexcept = 0;

 protected:
  ~IMeet() = default;
};

struct CommDesc {
  uint32_t struct_size;
  uint32_t rank;
  uint32_t world;
  uint32_t replica;   // this one of `replicas` in this process
  uint32_t replicas;
  uint32_t channel;   // 0 = the main communicator
  uint32_t timeout_ms;
  uint32_t pad;
  IDevice* device;
  IMeet* meet;
  Str job;            // fresh for every run: a prefix for anything that outlives a process
};

struct CommInfo {
  uint32_t struct_size;
  uint32_t mem_kinds;       // mask of Mem whose addresses it takes
  uint32_t stream_ordered;  // 1: calls enqueue; 0: calls do the work before they return
  uint32_t capturable;      // 1: calls are legal while capturing
  uint32_t dtypes;          // of its collectives
  uint32_t pad;
  char transport[32];       // what moves the bytes, terminated: "shared memory", "NVLink"
};

/// Ordered point-to-point between ranks. One thread at a time. Offsets and counts in bytes.
struct IComm : IObject {
  static constexpr const char* id = "convoy.comm.1";

  virtual Code info(CommInfo* out) noexcept = 0;
  virtual Code register_buffer(const Buffer& b) noexcept = 0;
  virtual Code forget_buffer(const Buffer& b) noexcept = 0;
  virtual Code send(const Buffer& b, uint64_t off, uint64_t n, uint32_t peer, Stream s) noexcept = 0;
  virtual Code recv(const Buffer& b, uint64_t off, uint64_t n, uint32_t peer, Stream s) noexcept = 0;
  /// Calls between group(1) and group(0) may be started together. Honoured or ignored, never required.
  virtual Code group(uint32_t begin) noexcept = 0;
  virtual Code barrier(uint32_t timeout_ms) noexcept = 0;
  /// The asynchronous failure of any earlier call, or ok.
  virtual Code poll() noexcept = 0;
  /// From any thread: waiting and later calls, here and at the peers, end as aborted within 5 s.
  virtual void abort() noexcept = 0;
};

/// Facet of IComm: the transport's own collectives. `count` in elements; op: 0 sum, 1 mean, 2 max.
struct ICollectives : IObject {
  static constexpr const char* id = "convoy.collectives.1";

  virtual Code all_reduce(const Buffer& b, uint64_t off, uint64_t count, DType t, uint32_t op,
                          Stream s) noexcept = 0;
  /// Rank r keeps the r-th of `world` equal parts, in place; `count` is the whole.
  virtual Code reduce_scatter(const Buffer& b, uint64_t off, uint64_t count, DType t, uint32_t op,
                              Stream s) noexcept = 0;
  virtual Code all_gather(const Buffer& b, uint64_t off, uint64_t count, DType t, Stream s) noexcept = 0;
  virtual Code broadcast(const Buffer& b, uint64_t off, uint64_t count, DType t, uint32_t root,
                         Stream s) noexcept = 0;
};

/// What a comm factory creates, once per process.
struct ITransport : IObject {
  static constexpr const char* id = "convoy.transport.1";

  /// On every replica's thread at once; returns when all ranks have joined. Errors: timeout, naming who did
  /// not.
  virtual Code connect(const CommDesc& d, IComm** out) noexcept = 0;
};

struct LaunchInfo {
  uint32_t struct_size;
  uint32_t process;
  uint32_t processes;
  uint32_t host_process;    // this one of `host_processes` on this host
  uint32_t host_processes;
  uint32_t pad;
};

/// Facet of a transport that has a launcher of its own.
struct ILaunch : IObject {
  static constexpr const char* id = "convoy.launch.1";

  virtual Code launch_info(LaunchInfo* out) noexcept = 0;
  /// All-gather over processes.
  virtual Code exchange(const void* mine, uint64_t n, void* all, uint32_t timeout_ms) noexcept = 0;
};

}  // namespace abi1
}  // namespace convoy

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
