// A plugin file that was found, and whether it may be used: everything that can be known before it is loaded.
#pragma once

#include "error.hpp"
#include "plugin/elf_file.hpp"
#include "plugin/manifest.hpp"
#include "plugin/plugin_file.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace convoy::plugin {

struct Candidate {
  std::filesystem::path file;    // links resolved
  std::filesystem::path folder;  // the search folder that it was found in
  FileIdentity identity;         // of the file that was read; what is loaded must be the same
  ElfFacts elf;
  std::optional<Manifest> manifest;  // none where it could not be read
  std::optional<Error> refused;      // why it may not be loaded
  std::vector<std::string> warnings;
};

/// Reads and checks one file, in the order: regular file, owner and mode, ELF, manifest, epoch, minor, instruction set,
/// sanitizer, needed libraries. Never throws for a fault of the file: that is in `refused`.
Candidate examine(const std::filesystem::path& file, const std::filesystem::path& folder);

/// The same error with a first note that says which file and version it is about, where its text does not.
Error about(const Candidate& c, const Error& e);

}  // namespace convoy::plugin
