// The few facts about a shared library that are needed before it is loaded, read from the file by ourselves:
// no code of it runs. Every offset is checked; a hostile file gives an error, never a crash.
// Not a general ELF reader: 64-bit little-endian only.
#pragma once

#include "plugin/plugin_file.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace convoy::plugin {

struct ElfFacts {
  std::optional<std::string> manifest;  // the contents of section .convoy_manifest
  std::string build_id;                 // hex, empty where there is none
  std::vector<std::string> needed;      // DT_NEEDED
  std::string run_path;                 // DT_RUNPATH or DT_RPATH
};

/// Reads some kilobytes of it, however large it is. `path` is for messages.
/// Errors: plugin, naming file and reason (not ELF, for another machine, damaged).
ElfFacts read_elf(const PluginFile& file, const std::string& path);
/// The same for a file in memory.
ElfFacts parse_elf(const std::vector<unsigned char>& bytes, const std::string& path);

}  // namespace convoy::plugin
