// How a dataset says which samples it leaves out. Only for datasets that do: abi.hpp does not include it.
#pragma once

#include "dataset.hpp"

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
#endif

namespace convoy {
inline namespace abi1 {

/// The run's skipped.ndjson. From IHost::query; null where nobody keeps such a file. Threads: any.
struct ISkippedSamples : IObject {
  static constexpr const char* id = "convoy.skipped_samples.1";

  /// Once for each sample. `file` and `reason` are for people, and are copied.
  virtual void add(Split split, uint64_t sample, Str file, Str reason) noexcept = 0;
};

}  // namespace abi1
}  // namespace convoy

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
