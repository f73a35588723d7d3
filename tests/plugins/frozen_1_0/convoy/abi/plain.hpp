// Plain data of the plugin border: versions, views, codes, types. No interface is declared here.
#pragma once

#include <stdint.h>

/// Breaking changes. Part of the entry symbol's name; a plugin of another epoch is refused.
#define CONVOY_ABI_EPOCH 1
/// Additive changes: new interface ids, new struct tails, new operators.
#define CONVOY_ABI_MINOR 0
/// Newest version of the operator catalogue (see convoy/ops.hpp).
#define CONVOY_OPSET 1
/// Set by a plugin's author: the lowest host minor that will do. Anything newer is hidden from his code.
#ifndef CONVOY_TARGET_MINOR
#define CONVOY_TARGET_MINOR 0
#endif

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"  // by design: nothing is deleted through an interface
#endif

namespace convoy {
inline namespace abi1 {

/// UTF-8 text, not terminated, borrowed for the call.
struct Str {
  const char* p;
  uint64_t n;  // bytes
};

/// `n` elements of a type that cannot grow, borrowed for the call.
template <class T>
struct Span {
  T* p;
  uint64_t n;
};

/// `n` records of a type that may grow: the writer's record may be longer than the reader's.
template <class T>
struct Rows {
  const void* base;
  uint32_t n;
  uint32_t stride;  // bytes from one record to the next, the writer's sizeof(T)

  const T& operator[](uint32_t i) const {
    return *reinterpret_cast<const T*>(static_cast<const char*>(base) + static_cast<uint64_t>(i) * stride);
  }
};

/// How a call went. Anything but ok follows IHost::fail() on the same thread, with a message for the user.
enum class Code : int32_t {
  ok = 0,
  invalid = 1,         // arguments, options or shapes that can never work
  unsupported = 2,     // could work elsewhere; no error in supports(), native() and serve()
  out_of_memory = 3,
  device = 4,          // the device or its driver failed
  comm = 5,            // a transport failed
  timeout = 6,
  aborted = 7,         // abort() was called
  version = 8,
  not_found = 9,
  io = 10,             // a file could not be read or is broken
  internal = 11,       // a bug in the plugin
  not_ready = 12,      // IDevice::done(): not yet; no error
};

/// What a plugin provides. One library may provide several.
enum class Kind : uint32_t { model = 1, device = 2, comm = 3, sync = 4, dataset = 5 };

/// Element types. In a mask: bit (1u << value).
enum class DType : uint32_t { f32 = 1, f16 = 2, bf16 = 3, u8 = 4, i32 = 5, i64 = 6 };

/// Kinds of memory. Each is itself the bit where a mask is asked for.
enum class Mem : uint32_t {
  host = 1,    // ordinary memory
  pinned = 2,  // host memory that the device reaches by itself
  device = 4,  // only the device may dereference it
};

/// A tensor of a graph: its index in GraphView::tensors.
using Value = uint32_t;
/// "No value": an optional input that is absent.
constexpr Value kNoValue = 0xffffffffu;

/// A queue of work on a device; work in one stream runs in order. Owned by the device that made it.
struct Stream {
  uint64_t h;
};
/// A point in a stream. Owned by the device that made it.
struct Event {
  uint64_t h;
};

/// Memory of a device, freed through that device. The core adds offsets to `ptr` and dereferences it only
/// where `mem` is host or pinned.
struct Buffer {
  void* ptr;
  uint64_t bytes;
  uint64_t cookie;  // the device's own, untouched by anybody else
  uint32_t device;  // ordinal
  Mem mem;
};

enum class OptionType : uint32_t {
  boolean = 1,  // in `i`: 0 or 1
  integer = 2,
  real = 3,
  text = 4,
  integers = 5,
  reals = 6,
  texts = 7,
};

/// One option of a plugin, checked against its schema, with the default filled in.
struct Option {
  Str key;  // nested tables arrive flattened: "link.latency"
  OptionType type;
  uint32_t pad;
  union {
    int64_t i;
    double f;
    Str s;
    Span<const int64_t> li;
    Span<const double> lf;
    Span<const Str> ls;
  };
};

/// All options of one plugin, in the order of its schema.
struct Options {
  uint32_t struct_size;
  uint32_t pad;
  Rows<Option> items;
  Str table;  // "comm": the table of the experiment file, for messages
};

}  // namespace abi1
}  // namespace convoy

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
