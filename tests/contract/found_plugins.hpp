// Models and datasets that the build made, as the core sees them: what contract tests run over.
// Knows no plugin by name. Devices: devices.hpp.
#pragma once

#include "owned.hpp"
#include "plugin/host.hpp"

#include <convoy/abi.hpp>

#include <string>
#include <vector>

namespace convoy::contract {

/// The host of these plugins.
plugin::Host& plugin_host();

/// Names of all plugins of a kind in the build's plugin folder.
std::vector<std::string> names_of(Kind kind);

/// With the defaults of their schemas. Errors: usage, where an option has no default; what create() says.
Owned<IModel> create_model(const std::string& name);
Owned<IDataset> create_dataset(const std::string& name);

}  // namespace convoy::contract
