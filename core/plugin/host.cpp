#include "plugin/host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace convoy::plugin {

namespace {

// A failing call and the calls around it each leave a line; a plugin that fails in a loop must not fill memory.
constexpr std::size_t kMostMessages = 8;

std::vector<std::string>& messages() {
  thread_local std::vector<std::string> lines;
  return lines;
}

std::string text(Str s) { return s.n == 0 ? std::string() : std::string(s.p, s.n); }

ErrorKind kind_of(Code c) {
  switch (c) {
    case Code::io: return ErrorKind::data;
    case Code::comm: case Code::timeout: case Code::aborted: return ErrorKind::peer;
    default: return ErrorKind::plugin;
  }
}

}  // namespace

const char* name_of(Code c) {
  switch (c) {
    case Code::ok: return "ok";
    case Code::invalid: return "invalid";
    case Code::unsupported: return "unsupported";
    case Code::out_of_memory: return "out_of_memory";
    case Code::device: return "device";
    case Code::comm: return "comm";
    case Code::timeout: return "timeout";
    case Code::aborted: return "aborted";
    case Code::version: return "version";
    case Code::not_found: return "not_found";
    case Code::io: return "io";
    case Code::internal: return "internal";
    case Code::not_ready: return "not_ready";
  }
  return "unknown";
}

void Host::provide(const std::string& id, void* interface) {
  std::lock_guard lock(mutex_);
  provided_[id] = interface;
}

void Host::introduce(const std::string& plugin, const std::string& file) {
  std::lock_guard lock(mutex_);
  files_[plugin].insert(file);
}

std::vector<ErrorNote> Host::files_of(const std::string& plugin) {
  std::lock_guard lock(mutex_);
  std::vector<ErrorNote> notes;
  for (const auto& file : files_[plugin]) notes.emplace_back("file", file);
  return notes;
}

void* Host::query(const char* id) noexcept {
  if (std::strcmp(id, IHost::id) == 0) return static_cast<IHost*>(this);
  std::lock_guard lock(mutex_);
  const auto found = provided_.find(id);
  return found == provided_.end() ? nullptr : found->second;
}

void Host::log(uint32_t level, Str who, Str msg) noexcept {
  log_.write(static_cast<record::LogLevel>(std::min(level, 3u)), {who.p, who.n}, {msg.p, msg.n});
}

Code Host::fail(Code c, Str where, Str msg) noexcept {
  try {
    auto& lines = messages();
    if (lines.size() < kMostMessages) lines.push_back(where.n == 0 ? text(msg) : fmt::format("{}: {}", text(where), text(msg)));
  } catch (...) {
    // Out of memory while saying so: the code still arrives, and check() then says that no message did.
  }
  return c;
}

void Host::fail_async(Code c, Str who, Str msg) noexcept {
  try {
    std::lock_guard lock(mutex_);
    if (!failure_) failure_ = AsyncFailure{c, text(who), text(msg)};
  } catch (...) {
  }
  failed_.store(true, std::memory_order_release);
}

std::string Host::take_message() {
  std::string out;
  for (const auto& line : messages()) out += (out.empty() ? "" : "\n") + line;
  messages().clear();
  return out;
}

void Host::check(Code c, const std::string& plugin, const std::string& what) {
  if (c == Code::ok) {
    messages().clear();  // an inner call failed and the plugin found another way
    return;
  }
  std::vector<std::string> lines;
  std::swap(lines, messages());
  if (lines.empty())
    throw Error(ErrorKind::plugin,
                fmt::format("'{}' failed to {} and gave no message (code {}, {})", plugin, what,
                            static_cast<int>(c), name_of(c)),
                "P402", files_of(plugin))
        .note("fix", fmt::format("report it to the author of '{}'", plugin));
  const char* number = c == Code::out_of_memory ? kOutOfMemory : c == Code::unsupported ? kUnsupported : "";
  Error e(kind_of(c), fmt::format("'{}' could not {}: {}", plugin, what, lines.front()), number, files_of(plugin));
  for (std::size_t i = 1; i < lines.size(); ++i) e.note("in", lines[i]);
  throw e;
}

void Host::poll() {
  if (!failed_.load(std::memory_order_acquire)) return;
  std::optional<AsyncFailure> failure;
  {
    std::lock_guard lock(mutex_);
    std::swap(failure, failure_);
    failed_.store(false, std::memory_order_release);
  }
  if (!failure) throw Error(ErrorKind::plugin, "a plugin failed on a thread of its own and its message was lost");
  throw Error(kind_of(failure->code), fmt::format("'{}' failed: {}", failure->who, failure->message));
}

}  // namespace convoy::plugin
