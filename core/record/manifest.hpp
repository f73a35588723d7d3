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

/// What the program knows; the rest of the manifest is found out when it is written.
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

/// The machine a process runs on, as far as it can be told without a vendor's library.
struct Machine {
  std::string hostname;
  std::string kernel;             // "Linux 6.1.0"
  std::string cpu_model;
  std::int64_t cores = 0;         // that this process may use
  std::int64_t cores_online = 0;
  std::int64_t memory_bytes = 0;
  std::vector<std::string> isa;   // vector extensions, as the kernel spells them: "avx2", "avx512f"
};
Machine this_machine();

/// XXH3-128 of the text, 32 hex digits. Finds changes; is no signature.
std::string experiment_hash(std::string_view text);

/// Shared objects mapped into this process, but for the C and C++ runtimes; real paths, sorted.
std::vector<std::string> mapped_libraries();
/// The same from the text of a maps file, as the kernel writes it.
std::vector<std::string> libraries_in_maps(std::string_view maps);

/// Variables of this process whose names start with one of `prefixes`, sorted.
std::vector<std::pair<std::string, std::string>> environment_with(const std::vector<std::string>& prefixes);

/// "2026-01-31T12:00:00+01:00": local time with its offset.
std::string iso_time(std::time_t time);

/// The text of the file.
std::string to_json(const Manifest& manifest);
/// Call when plugins are loaded, so that their libraries are seen. Errors: storage.
void write_manifest(const std::filesystem::path& path, const Manifest& manifest);

}  // namespace convoy::record
