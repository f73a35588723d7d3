// A host for tests that use a plugin's classes without loading it: keeps what fail() and log() are told.
// Not the core's host (plugin/host.hpp): no chain, no query.
#pragma once

#include <convoy/sdk/plugin.hpp>

#include <mutex>
#include <string>

namespace convoy::testing {

/// The SDK's host as long as it lives. Threads: any.
class RecordingHost final : public IHost {
 public:
  RecordingHost() { sdk::host_slot() = this; }
  ~RecordingHost() { sdk::host_slot() = nullptr; }

  /// All messages since the last call, innermost first, joined by " | ".
  std::string take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(messages_, {});
  }

  void* query(const char*) noexcept override { return nullptr; }
  void destroy() noexcept override {}
  void log(uint32_t, Str, Str) noexcept override {}
  Code fail(Code c, Str, Str message) noexcept override {
    const std::lock_guard lock(mutex_);
    if (!messages_.empty()) messages_ += " | ";
    messages_ += sdk::text(message);
    return c;
  }
  void fail_async(Code c, Str who, Str message) noexcept override { fail(c, who, message); }
  uint32_t abi_minor() noexcept override { return CONVOY_ABI_MINOR; }

 private:
  std::mutex mutex_;
  std::string messages_;
};

}  // namespace convoy::testing
