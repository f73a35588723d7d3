// A compiled graph on this machine's processor: runs the steps of its schedule, one after the other, each on all
// threads. Synchronous: when run() returns, the step is done.
#pragma once

#include "compiler.hpp"
#include "profile.hpp"

#include <convoy/sdk/plugin.hpp>

#include <memory>
#include <vector>

namespace convoy::cpu {

struct ExecutableOptions {
  int threads = 1;
  bool profile = false;
};

/// Threads: one at a time, which becomes the master of `threads` OpenMP threads.
class Executable final : public sdk::Object<IExecutable> {
 public:
  /// `compiled` has no refused node. Compiles the code of all primitives.
  Executable(Compiled compiled, const ExecutableOptions& options);
  ~Executable() override;

  Code memory(MemoryReport* out) noexcept override;
  Code describe(INodeReport& out) noexcept override;
  Code bind(void* arena, Span<const Binding> boundary) noexcept override;
  Code refresh(Stream s) noexcept override;
  Code run(Stream s, uint64_t step) noexcept override;
  Code value_layout(Value v, Str* tag) noexcept override;
  Code export_value(Value v, Stream s, void* canonical) noexcept override;
  Code import_value(Value v, Stream s, const void* canonical) noexcept override;

 private:
  void* home(Value v) const;

  Compiled compiled_;
  ExecutableOptions options_;
  std::vector<void*> boundary_;  // by value; null before bind()
  std::unique_ptr<Profile> profile_;
};

}  // namespace convoy::cpu
