// Where core and plugins send what they have to say to a person. Libraries only ever hold a LogSink; the
// program decides where it goes. Not a record of measurements (ndjson.hpp).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>

namespace convoy::record {

/// The values are those of IHost::log at the plugin border.
enum class LogLevel : std::uint32_t { error = 0, warning = 1, info = 2, debug = 3 };

/// Threads: any. Never throws: a run does not end because it cannot say something.
class LogSink {
 public:
  virtual ~LogSink() = default;
  /// `who` speaks: "plugin", "cpu", "runner". `message` may have several lines.
  virtual void write(LogLevel level, std::string_view who, std::string_view message) noexcept = 0;

  void error(std::string_view who, std::string_view message) noexcept { write(LogLevel::error, who, message); }
  void warning(std::string_view who, std::string_view message) noexcept {
    write(LogLevel::warning, who, message);
  }
  void info(std::string_view who, std::string_view message) noexcept { write(LogLevel::info, who, message); }
  void debug(std::string_view who, std::string_view message) noexcept { write(LogLevel::debug, who, message); }
};

/// For libraries and tests that are not given a sink.
class SilentLog final : public LogSink {
 public:
  void write(LogLevel, std::string_view, std::string_view) noexcept override {}
};

/// The program's log: standard error and, once the run has a directory, log.txt.
class ProgramLog final : public LogSink {
 public:
  /// Shows on standard error what is at least as grave as `shown`.
  explicit ProgramLog(LogLevel shown);
  ~ProgramLog() override;

  /// From here on also writes to `path`, appending, what is at least as grave as `written`.
  /// Called once, before other threads use the log. Errors: storage.
  void open_file(const std::filesystem::path& path, LogLevel written = LogLevel::debug);

  void write(LogLevel level, std::string_view who, std::string_view message) noexcept override;

  /// Lines that could not be written, to either place.
  std::uint64_t lost_lines() const noexcept;

 private:
  struct Sinks;
  std::unique_ptr<Sinks> sinks_;
};

}  // namespace convoy::record
