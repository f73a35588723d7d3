#include "devices.hpp"

#include "error.hpp"
#include "exec/worker_pool.hpp"
#include "experiment/schema.hpp"
#include "plugin/registry.hpp"
#include "record/log.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <sstream>

namespace convoy::contract {

namespace {

constexpr uint32_t kWorkers = 2;

/// One per process, never destroyed: plugin libraries stay loaded and keep pointers to the host.
struct Plugins {
  record::SilentLog log;
  plugin::Host host{log};
  exec::WorkerPool workers{kWorkers};
  plugin::Registry registry{host, {{std::filesystem::path(CONVOY_BUILD_DIR) / "lib" / "convoy" / "plugins"}, {}}};

  Plugins() { host.provide(IWorkers::id, static_cast<IWorkers*>(&workers)); }
};

Plugins& plugins() {
  static auto* all = new Plugins();
  return *all;
}

bool wanted(const std::string& name) {
  const char* list = std::getenv("CONVOY_CONTRACT_DEVICES");
  if (list == nullptr) return true;
  std::istringstream in(list);
  for (std::string one; std::getline(in, one, ',');)
    if (one == name) return true;
  return false;
}

std::vector<std::string> find_devices() {
  std::vector<std::string> out;
  for (const plugin::Row& row : plugins().registry.rows()) {
    if (row.kind != "device" || row.shadowed_by != nullptr || !wanted(row.name)) continue;
    try {
      plugins().registry.probe(Kind::device, row.name);
      out.push_back(row.name);
    } catch (const Error& e) {
      MESSAGE("skipped: device " << row.name << ": " << std::string(e.what()));
    }
  }
  REQUIRE_MESSAGE(!out.empty(), "no device backend in the plugin folder of the build");
  return out;
}

}  // namespace

plugin::Host& host() { return plugins().host; }

const std::vector<std::string>& device_names() {
  static const std::vector<std::string> names = find_devices();
  return names;
}

std::unique_ptr<exec::Device> open_device(const std::string& name) {
  auto& registry = plugins().registry;
  const auto rules = experiment::parse_schema(registry.options_schema(Kind::device, name), name);
  auto options = experiment::check_options(rules, {}, "device", {});
  options.push_back({"ordinal", int64_t{0}});
  return std::make_unique<exec::Device>(registry.create<IDevice>(Kind::device, name, options), name, host());
}

std::vector<std::string> executions(const exec::Device& device) {
  std::vector<std::string> out;
  if (device.kernels() != nullptr) out.push_back("stitched");
  if (device.compiler() != nullptr) out.push_back("compiled");
  return out;
}

bool under_sanitizer() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return true;
#else
  return false;
#endif
#else
  return false;
#endif
}

}  // namespace convoy::contract
