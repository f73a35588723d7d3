// See log.hpp. The only place that knows spdlog.
#include "record/log.hpp"

#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <atomic>
#include <string>

#include "error.hpp"

namespace convoy::record {
namespace {

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::error: return spdlog::level::err;
    case LogLevel::warning: return spdlog::level::warn;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::debug: return spdlog::level::debug;
  }
  return spdlog::level::err;
}

std::string_view prefix_of(LogLevel level) {
  switch (level) {
    case LogLevel::error: return "error: ";
    case LogLevel::warning: return "warning: ";
    case LogLevel::info: return "";
    case LogLevel::debug: return "debug: ";
  }
  return "error: ";
}

/// Later lines are indented, so that each message stays one block; other control characters, which could drive
/// a terminal, become '?': messages quote files that nobody has vouched for.
std::string one_block(LogLevel level, std::string_view who, std::string_view message) {
  std::string out(prefix_of(level));
  out.append(who).append(who.empty() ? "" : ": ");
  while (!message.empty() && message.back() == '\n') message.remove_suffix(1);
  for (const char c : message) {
    if (c == '\n')
      out += "\n  ";
    else
      out += (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f ? '?' : c;
  }
  return out;
}

}  // namespace

struct ProgramLog::Sinks {
  std::shared_ptr<spdlog::sinks::stderr_sink_mt> terminal = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  spdlog::logger logger{"convoy", terminal};
  std::atomic<std::uint64_t> lost{0};
};

ProgramLog::ProgramLog(LogLevel shown) : sinks_(std::make_unique<Sinks>()) {
  sinks_->terminal->set_level(to_spdlog(shown));
  sinks_->terminal->set_pattern("%v");
  sinks_->logger.set_level(spdlog::level::debug);
  sinks_->logger.flush_on(spdlog::level::debug);  // the last lines before a crash are the ones that matter
  sinks_->logger.set_error_handler([lost = &sinks_->lost](const std::string&) { ++*lost; });
}

ProgramLog::~ProgramLog() = default;

void ProgramLog::open_file(const std::filesystem::path& path, LogLevel written) {
  try {
    auto file = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string());
    file->set_level(to_spdlog(written));
    file->set_pattern("%Y-%m-%d %H:%M:%S.%e %v");
    sinks_->logger.sinks().push_back(std::move(file));
  } catch (const spdlog::spdlog_ex& failed) {
    throw Error(ErrorKind::storage, "cannot open log file " + path.string() + ": " + failed.what());
  }
}

void ProgramLog::write(LogLevel level, std::string_view who, std::string_view message) noexcept {
  try {
    const std::string text = one_block(level, who, message);
    sinks_->logger.log(to_spdlog(level), spdlog::string_view_t(text.data(), text.size()));
  } catch (...) {
    ++sinks_->lost;
  }
}

std::uint64_t ProgramLog::lost_lines() const noexcept { return sinks_->lost; }

}  // namespace convoy::record
