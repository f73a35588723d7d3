// Checks on the raw text that come before the parser, because toml++ 3.3.0 breaks on what they refuse: non-ASCII
// outside strings and comments reaches undefined behaviour, some control bytes trip assertions (marzer/tomlplusplus
// issues 190, 294, 295 and pull requests 301, 305). Not a parser: it knows only where strings and comments are.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace convoy::experiment {

/// Errors: usage with source, line and column.
void check_toml_text(std::string_view text, const std::string& source);

/// Bytes of the UTF-8 character that `text` begins with; 0 where it begins with none (overlong, a surrogate, above
/// U+10FFFF, cut short) or is empty.
std::size_t utf8_length(std::string_view text);

/// UTF-8 without control characters: what a name, or a value from the command line, may be.
bool is_plain_text(std::string_view text);
/// Plain text that shows any bytes: control characters and what is no UTF-8 as \u001B and \xFF. For messages.
std::string printable(std::string_view text);

}  // namespace convoy::experiment
