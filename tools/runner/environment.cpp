#include "runner/environment.hpp"

#include <convoy/sdk/plugin.hpp>

#include <fmt/format.h>

#include <cstdlib>

namespace convoy::runner {

namespace {

plugin::SearchPath search_path(const std::vector<std::string>& plugin_dirs) {
  return plugin::make_search_path(plugin_dirs, secure_getenv("CONVOY_PLUGIN_PATH"), program_path());
}

Kind kind_of(const std::string& table) {
  for (Kind k : {Kind::model, Kind::device, Kind::comm, Kind::sync, Kind::dataset})
    if (table == plugin::table_of(k)) return k;
  throw Error(ErrorKind::bug, "no kind of plugin belongs to [" + table + "]");
}

}  // namespace

std::filesystem::path program_path() { return std::filesystem::read_symlink("/proc/self/exe"); }

Environment::Environment(const std::vector<std::string>& plugin_dirs, record::LogLevel shown)
    : log_(shown), host_(log_), registry_(host_, search_path(plugin_dirs), plugin_dirs.size()) {
  sdk::host_slot() = &host_;  // the core's own implementations of border interfaces use the SDK too
  for (const auto& w : registry_.warnings()) log_.warning("plugin", w);
}

void Environment::warn_of_refused() {
  for (const auto& w : registry_.refused_warnings()) log_.warning("plugin", w);
}

void Environment::keep_log_in(const std::filesystem::path& file) {
  {
    record::ProgramLog only_there(record::LogLevel::error);
    only_there.open_file(file);
    for (const auto* list : {&registry_.warnings(), &registry_.refused_warnings()})
      for (const auto& w : *list) only_there.warning("plugin", w);
  }
  log_.open_file(file);
}

std::string RegistrySchemas::schema(const std::string& kind, const std::string& use, const Position& at) {
  return environment_.registry().options_schema(kind_of(kind), use, at);
}

std::string RegistrySchemas::auto_device() {
  if (!auto_device_.empty()) return auto_device_;
  std::string reasons;
  for (const auto& name : kAutoDevices) {
    try {
      environment_.registry().probe(Kind::device, name);
      notice_ = fmt::format("device auto: {}{}", name, reasons);
      return auto_device_ = name;
    } catch (const Error& e) {
      reasons += fmt::format("; {} not usable ({})", name, e.what());
    }
  }
  throw Error(ErrorKind::plugin, "device.use = \"auto\" found no usable device" + reasons).note("fix", "name a device: device.use = \"reference\"");
}

}  // namespace convoy::runner
