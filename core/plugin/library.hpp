// Loads a plugin file and calls its entry point. The only user of Boost.DLL. Nothing is ever unloaded.
#pragma once

#include "plugin/candidate.hpp"
#include "plugin/host.hpp"

#include <convoy/abi.hpp>

#include <vector>

namespace convoy::plugin {

/// The factories that a library offers, valid until the process ends.
struct Library {
  std::vector<IFactory*> factories;
  void (*shutdown)() = nullptr;
};

/// `c` was examined and not refused. Errors: plugin, P301 to P306: the loader's reasons in our words, a missing or failing
/// entry point, factories that differ from the manifest. A library that is loaded already is not loaded again.
Library load_library(const Candidate& c, Host& host);

/// The first half of it: maps the file, so that its static initialisers run. Apart, so that a probe which ends badly
/// can say how far it came.
void map_library(const Candidate& c, Host& host);

/// Our words for what the system's loader said: P206, P301, P302, P305.
Error explain_loader(const std::string& plugin, const std::string& loader_text);

}  // namespace convoy::plugin
