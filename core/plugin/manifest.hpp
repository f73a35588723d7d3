// The manifest of a plugin: text that its build wrote into the library, read before any of its code runs.
#pragma once

#include <convoy/abi.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace convoy::plugin {

/// One thing that a library provides.
struct Provided {
  Kind kind;
  std::string name;
  bool operator==(const Provided&) const = default;
};

struct Manifest {
  std::string name;
  std::string version;
  std::string vendor;
  std::vector<Provided> provides;
  std::string toolchain;
  std::string source;
  uint32_t abi = 0;            // epoch
  uint32_t abi_min_minor = 0;  // lowest host minor that will do
  uint32_t opset = 0;
  std::vector<std::string> isa;
  std::string sanitizer = "none";
  std::vector<std::string> global_libs;
  std::vector<std::string> launch_env;
};

/// "model", "device", "comm", "sync", "dataset".
const char* name_of(Kind k);
/// The table of the experiment file that chooses one: "data" for datasets, else the kind's name.
const char* table_of(Kind k);

/// Errors: plugin P208, naming the file and the line that is wrong; names are letters, digits and _ - . +, and nothing
/// holds control characters, since all of it is printed. Unknown keys are left alone: a newer build may
/// say more.
Manifest parse_manifest(const std::string& text, const std::string& file);

}  // namespace convoy::plugin
