// TOML text to a ConfigTable. The only file that knows the parser; experiment files are data from strangers, so nothing
// in one may crash, hang or exhaust memory.
#pragma once

#include "experiment/config_value.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

namespace convoy::experiment {

constexpr std::size_t kLargestFile = 1 << 20;  // bytes
constexpr int kDeepestNesting = 32;            // tables and arrays in one another, by brackets, headers or dots

/// `source` names the text in positions. Errors: usage, "source:line:column: what is wrong".
ConfigTable parse_toml(std::string_view text, const std::string& source);
/// Errors: usage, also where the file is missing, a folder, too large or unreadable.
ConfigTable read_toml_file(const std::filesystem::path& path);
/// One value, as behind `--set key=`: TOML if it is, else the text itself as a string, so that device.use=cpu needs no
/// quotes. White space around it does not count; nothing at all is the empty string. `source` is its only position.
/// Errors: usage, where it begins as a list, table or quoted string and is none, or is not UTF-8 without control bytes.
ConfigValue parse_override_value(std::string_view text, const std::string& source);

}  // namespace convoy::experiment
