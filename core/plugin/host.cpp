#include "plugin/host.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace convoy::plugin {

namespace {

// A failing call and the calls around it each leave a line; a plugin that fails in a loop must not fill memory.
constexpr std::size_t kMostMessages = 8;

struct Message {
  std::string where;  // the plugin's own name of the place
  std::string words;
  std::string line() const { return where.empty() ? words : where + ": " + words; }
};

std::vector<Message>& messages() {
  thread_local std::vector<Message> left;
  return left;
}

std::string text(Str s) { return s.n == 0 ? std::string() : std::string(s.p, s.n); }

ErrorKind kind_of(Code c) {
  switch (c) {
    case Code::invalid: return ErrorKind::usage;  // options or shapes that can never work: somebody wrote them
    case Code::io: return ErrorKind::data;
    case Code::comm: case Code::timeout: case Code::aborted: return ErrorKind::peer;
    default: return ErrorKind::plugin;
  }
}

/// What is wrong with somebody's own words or files is said without the name of the function that noticed it: that helps
/// the plugin's author only. Other places, like a node's name, stay.
std::string line_for(ErrorKind kind, const Message& m) {
  const bool function = m.where.find("::") != std::string::npos || m.where == "create";
  return function && (kind == ErrorKind::usage || kind == ErrorKind::data) ? m.words : m.line();
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
    auto& left = messages();
    if (left.size() < kMostMessages) left.push_back({text(where), text(msg)});
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
  for (const auto& m : messages()) out += (out.empty() ? "" : "\n") + m.line();
  messages().clear();
  return out;
}

void Host::check(Code c, const std::string& plugin, const std::string& what) {
  if (c == Code::ok) {
    messages().clear();  // an inner call failed and the plugin found another way
    return;
  }
  std::vector<Message> left;
  std::swap(left, messages());
  if (left.empty())
    throw Error(ErrorKind::plugin,
                fmt::format("'{}' failed to {} and gave no message (code {}, {})", plugin, what,
                            static_cast<int>(c), name_of(c)),
                "P402", files_of(plugin))
        .note("fix", fmt::format("report it to the author of '{}'", plugin));
  const char* number = c == Code::out_of_memory ? kOutOfMemory : c == Code::unsupported ? kUnsupported : "";
  const ErrorKind kind = kind_of(c);
  Error e(kind, fmt::format("'{}' could not {}: {}", plugin, what, line_for(kind, left.front())), number, files_of(plugin));
  for (std::size_t i = 1; i < left.size(); ++i) e.note("in", line_for(kind, left[i]));
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
  // On a thread of its own nobody's options are looked at: what is invalid there is the plugin's fault.
  throw Error(failure->code == Code::invalid ? ErrorKind::plugin : kind_of(failure->code), fmt::format("'{}' failed: {}", failure->who, failure->message));
}

}  // namespace convoy::plugin
