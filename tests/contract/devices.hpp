// Every device backend that the build made, as the core sees it: what contract tests run over.
// Knows no backend by name; one that is not usable on this machine is skipped aloud.
#pragma once

#include "exec/device.hpp"
#include "plugin/host.hpp"

#include <memory>
#include <string>
#include <vector>

namespace convoy::contract {

/// The host of all plugins of this process.
plugin::Host& host();

/// Backends in the build's plugin folder that can be used here. CONVOY_CONTRACT_DEVICES="a,b" picks some.
const std::vector<std::string>& device_names();

/// A new device with the defaults of its schema, and ordinal 0.
std::unique_ptr<exec::Device> open_device(const std::string& name);

/// The ways in which the core can run a graph there: "stitched", "compiled".
std::vector<std::string> executions(const exec::Device& device);

/// True in builds where a sanitizer's own allocations and delays would be measured.
bool under_sanitizer();

}  // namespace convoy::contract
