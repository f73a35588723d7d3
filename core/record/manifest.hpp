// manifest.json: everything that would have to be the same for a run to give the same bits again.
// Not the experiment (resolved.toml), only its hash.
#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/ndjson.hpp"

namespace convoy::record {

/// A plugin that took part.
struct PluginIdentity {
  std::string provides;  // "device:cpu;comm:threads"
  std::string name;
  std::string version;
  std::string build_id;  // ELF build-id, hex
  std::string sha256;    // of the file, hex
  std::string file;
};

/// What the program knows; the machine and the mapped libraries are found out when it is written.
struct Manifest {
  std::string convoy_version;
  std::string source;                 // commit the program was built from, where known
  std::uint64_t seed = 0;
  std::vector<std::string> argv;
  std::time_t started = 0;
  std::string experiment;             // the resolved experiment's text; its hash is written
  std::vector<PluginIdentity> plugins;
  std::vector<std::pair<std::string, std::string>> environment;  // variables that change what a run does
  Record more;                        // behind the others: thread count, data fingerprint, driver versions
};

/// XXH3-128 of the text, 32 hex digits. Finds changes; is no signature.
std::string experiment_hash(std::string_view text);

/// "2026-01-31T12:00:00+01:00": local time with its offset.
std::string iso_time(std::time_t time);

/// The text of the file.
std::string to_json(const Manifest& manifest);
/// Call when plugins are loaded, so that their libraries are seen. Errors: storage.
void write_manifest(const std::filesystem::path& path, const Manifest& manifest);

}  // namespace convoy::record
