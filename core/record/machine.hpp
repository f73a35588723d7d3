// What this process runs on and with: machine, libraries, environment, as the kernel tells it.
// No vendor's library is asked: what a device is, its plugin knows.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace convoy::record {

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

/// Shared objects mapped into this process, but for the C and C++ runtimes; real paths, sorted.
std::vector<std::string> mapped_libraries();
/// The same from the text of a maps file, as the kernel writes it.
std::vector<std::string> libraries_in_maps(std::string_view maps);

/// Variables of this process whose names start with one of `prefixes`, sorted.
std::vector<std::pair<std::string, std::string>> environment_with(const std::vector<std::string>& prefixes);

}  // namespace convoy::record
