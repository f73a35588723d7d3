// The core's side of IHost: takes messages and logs of plugins, and turns their codes into errors.
// Not the loader: it knows plugins only by the name that a call is checked under.
#pragma once

#include "error.hpp"
#include "record/log.hpp"

#include <convoy/abi.hpp>

#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace convoy::plugin {

/// The numbers of two errors that a sweep goes on after.
inline constexpr const char* kOutOfMemory = "P503";
inline constexpr const char* kUnsupported = "P504";

/// One per process, outlives all plugins. Threads: any. Never throws across the border.
class Host final : public IHost {
 public:
  /// Borrows the sink.
  explicit Host(record::LogSink& log) : log_(log) {}

  /// What query() hands out under `id`, besides IHost itself. Before plugins are used; null withdraws it.
  void provide(const std::string& id, void* interface);

  void* query(const char* id) noexcept override;
  void destroy() noexcept override {}
  void log(uint32_t level, Str who, Str msg) noexcept override;
  Code fail(Code c, Str where, Str msg) noexcept override;
  void fail_async(Code c, Str who, Str msg) noexcept override;
  uint32_t abi_minor() noexcept override { return CONVOY_ABI_MINOR; }

  /// Where the plugin of that name came from, for messages of check(): "/opt/acme/fast.convoy.so (acme_fast 0.4.1)". Two files
  /// may provide the same name for different kinds; then both are mentioned.
  void introduce(const std::string& plugin, const std::string& file);
  /// Throws where `c` is not ok: an Error whose kind follows from the code and whose text is what the plugin left,
  /// with `plugin` and `what` (being done) in front, and its file below; P402 where it left nothing.
  void check(Code c, const std::string& plugin, const std::string& what);
  /// The messages that this thread's calls left since the last time, innermost first; empties them.
  std::string take_message();
  /// Throws the first failure that a plugin reported from a thread of its own, once.
  void poll();

 private:
  std::vector<ErrorNote> files_of(const std::string& plugin);

  struct AsyncFailure {
    Code code;
    std::string who;
    std::string message;
  };

  record::LogSink& log_;
  std::mutex mutex_;
  std::map<std::string, void*> provided_;
  std::map<std::string, std::set<std::string>> files_;
  std::optional<AsyncFailure> failure_;
  std::atomic<bool> failed_{false};
};

/// "out_of_memory": a code as messages spell it.
const char* name_of(Code c);

}  // namespace convoy::plugin
