// What every command of the program needs: log, host, plugins found.
#pragma once

#include "experiment/experiment.hpp"
#include "plugin/host.hpp"
#include "plugin/registry.hpp"
#include "record/log.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace convoy::runner {

/// The devices that device.use = "auto" tries, in order. The program's choice, not the core's.
inline const std::vector<std::string> kAutoDevices{"cuda", "cpu"};

/// The device that a benchmark's gates compare others with.
inline const std::string kOracle = "reference";

/// Owns them for the life of the process. Threads: main.
class Environment {
 public:
  /// `plugin_dirs`: as typed. Errors: usage, where one is no folder.
  Environment(const std::vector<std::string>& plugin_dirs, record::LogLevel shown);
  ~Environment() { registry_.shutdown(); }

  record::ProgramLog& log() { return log_; }
  /// Says which files of --plugin-dir are not used; for commands that do not list plugins.
  void warn_of_refused();
  /// From here on the log is also written to `file`, beginning with the warnings about plugins that were shown already.
  void keep_log_in(const std::filesystem::path& file);
  plugin::Host& host() { return host_; }
  plugin::Registry& registry() { return registry_; }

 private:
  record::ProgramLog log_;
  plugin::Host host_;
  plugin::Registry registry_;
};

/// Schemas of plugins, which are loaded for it; "auto" is the first device that is usable here.
class RegistrySchemas final : public experiment::SchemaSource {
 public:
  /// Borrows the environment.
  explicit RegistrySchemas(Environment& environment) : environment_(environment) {}

  std::string schema(const std::string& kind, const std::string& use, const Position& at) override;
  std::string auto_device() override;
  /// "device auto: cpu; cuda not usable (...)": empty where nobody asked.
  const std::string& auto_notice() const { return notice_; }

 private:
  Environment& environment_;
  std::string auto_device_;  // asked for once
  std::string notice_;
};

/// The running program's own file.
std::filesystem::path program_path();

}  // namespace convoy::runner
