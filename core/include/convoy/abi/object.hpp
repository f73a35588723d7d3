// Objects, the host, factories and the entry point: how a plugin and the core meet.
// Not the plugin's manifest, which is text in an ELF section and is read before any of this exists.
#pragma once

#include "plain.hpp"

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
#endif

namespace convoy {
inline namespace abi1 {

/// Root of everything that is handed over. An interface without an id is the host's and is only ever an
/// argument.
struct IObject {
  /// An interface of this object by its id ("convoy.kernels.1"), as a pointer to exactly that type, or null.
  /// Valid as long as this object. Threads: any.
  virtual void* query(const char* id) noexcept = 0;
  /// Ends the object. Called once, by its owner; nothing is called afterwards.
  virtual void destroy() noexcept = 0;

 protected:
  ~IObject() = default;  // never deleted through an interface
};

/// What the core gives a plugin. Outlives all plugins. Threads: any.
struct IHost : IObject {
  static constexpr const char* id = "convoy.host.1";

  /// Levels: 0 error, 1 warning, 2 info, 3 debug. `who` is the plugin or object that speaks.
  virtual void log(uint32_t level, Str who, Str msg) noexcept = 0;
  /// Leaves the message for the Code that the calling method is about to return; returns `c`.
  /// Threads: the one that returns the code. The text is copied.
  virtual Code fail(Code c, Str where, Str msg) noexcept = 0;
  /// A failure on a thread of the plugin's own. Stops the run at its next poll; the first one wins.
  virtual void fail_async(Code c, Str who, Str msg) noexcept = 0;
  /// Minor version that this host offers, at least what the plugin's manifest asked for.
  virtual uint32_t abi_minor() noexcept = 0;
};

/// The core's CPU pool, from IHost::query. Sized for the calling replica.
struct IWorkers : IObject {
  static constexpr const char* id = "convoy.workers.1";

  /// Threads that parallel() uses, the caller included. At least 1.
  virtual uint32_t size() noexcept = 0;
  /// Calls fn(ctx, begin, end) over [0, n) in pieces of at least `grain`, and returns when all are done.
  /// Which piece runs on which thread is undefined; pieces do not overlap. `fn` must not throw, nor call
  /// parallel() again. Threads: any, also several at once; a loop that finds the pool in use may run on its
  /// caller's thread alone.
  virtual void parallel(uint64_t n, uint64_t grain, void (*fn)(void* ctx, uint64_t begin, uint64_t end),
                        void* ctx) noexcept = 0;
};

/// What probe() found on this machine.
struct ProbeResult {
  uint32_t struct_size;
  int32_t score;       // 0 = not usable here, and `reason` says why
  uint32_t n_devices;  // 0 = any number (CPU kinds)
  uint32_t pad;
  char reason[192];    // terminated
};

/// Makes objects of one kind and name.
struct IFactory : IObject {
  virtual Kind kind() noexcept = 0;
  /// What the experiment file says: "cpu", "resnet". Lives as long as the library.
  virtual Str name() noexcept = 0;
  /// Can this work here? Cheap, without side effects, perhaps called in a child process.
  virtual Code probe(ProbeResult* out) noexcept = 0;
  /// Options as text, one key a line: `name : type = default [range or choices] # doc`; without a default the
  /// key must be given. Lives as long as the library. Types: bool int float string [int] [float] [string].
  virtual Str options_schema() noexcept = 0;
  /// `o` holds every key of the schema. A device also gets "ordinal" (integer) and "precision" (text:
  /// "fp32", "tf32", "bf16", "fp16"), which the core adds.
  virtual Code create(const Options& o, IObject** out) noexcept = 0;
};

/// Filled by the entry point. The factories live as long as the library.
struct PluginTable {
  uint32_t struct_size;
  uint32_t abi_minor;  // echoes the manifest's abi_min_minor
  Span<IFactory* const> factories;
  void (*shutdown)();  // optional, null = nothing to do: called once before the process ends
};

/// The type of the entry symbol, `extern "C" convoy::Code convoy_plugin_entry_1(IHost*, PluginTable*)`.
/// Called at most twice, with the same host. Creates nothing.
using EntryFn = Code (*)(IHost* host, PluginTable* out);

}  // namespace abi1
}  // namespace convoy

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
