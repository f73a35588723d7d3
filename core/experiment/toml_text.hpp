// Checks on the raw text that come before the parser, because toml++ 3.3.0 breaks on what they refuse:
// non-ASCII outside strings and comments reaches undefined behaviour, some control bytes trip assertions
// (marzer/tomlplusplus issues 190, 294, 295 and pull requests 301, 305).
#pragma once

#include <string>
#include <string_view>

namespace convoy::experiment {

/// Errors: usage with source, line and column.
void check_toml_text(std::string_view text, const std::string& source);

}  // namespace convoy::experiment
