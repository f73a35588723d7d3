#include "found_plugins.hpp"

#include "experiment/schema.hpp"
#include "plugin/registry.hpp"
#include "record/log.hpp"

#include <filesystem>

namespace convoy::contract {

namespace {

/// One per process, never destroyed: plugin libraries stay loaded and keep pointers to the host.
struct Plugins {
  record::SilentLog log;
  plugin::Host host{log};
  plugin::Registry registry{host, {{std::filesystem::path(CONVOY_BUILD_DIR) / "lib" / "convoy" / "plugins"}, {}}};
};

Plugins& plugins() {
  static auto* all = new Plugins();
  return *all;
}

template <class Interface>
Owned<Interface> create(Kind kind, const std::string& name) {
  auto& registry = plugins().registry;
  const auto rules = experiment::parse_schema(registry.options_schema(kind, name), name);
  return registry.create<Interface>(kind, name, experiment::check_options(rules, {}, plugin::name_of(kind), {}));
}

}  // namespace

plugin::Host& plugin_host() { return plugins().host; }

std::vector<std::string> names_of(Kind kind) {
  std::vector<std::string> out;
  for (const plugin::Row& row : plugins().registry.rows())
    if (row.kind == plugin::name_of(kind) && row.shadowed_by == nullptr) out.push_back(row.name);
  return out;
}

Owned<IModel> create_model(const std::string& name) { return create<IModel>(Kind::model, name); }
Owned<IDataset> create_dataset(const std::string& name) { return create<IDataset>(Kind::dataset, name); }

}  // namespace convoy::contract
