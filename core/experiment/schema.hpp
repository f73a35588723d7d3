// Options of a plugin: their schema as text, and a table checked against it.
//
// One key a line, empty lines and lines that begin with # are skipped:
//
//   line     name ":" type [ "=" default ] [ allowed ] [ "#" documentation ]
//   name     part { "." part }          part: letters, digits, '_', '-'; dots are tables within the plugin's table
//   type     bool | int | float | string, or a list of one: [int] | [float] | [string]
//   default  a TOML value of that type on one line; without it the key must be given
//   allowed  "[" [ number ] ".." [ number ] "]"    for int, float and lists of them (each element), both ends included
//            "[" string { "|" string } "]"         for string and [string] (each element); strings in double quotes
//            "[" integer { "|" integer } "]"       for int and [int] (each element)
//
//   bucket_mib : float = 25 [0.1..1024]           # largest bucket
//   wire       : string = "fp32" ["fp32"|"bf16"]
//   depth      : int = 50 [18|34|50]
//   link.hosts : [string]                         # must be given
#pragma once

#include "experiment/config_value.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace convoy::experiment {

using OptionData = std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>,
                                std::vector<std::string>>;

struct OptionValue {
  std::string key;
  OptionData value;
  bool operator==(const OptionValue&) const = default;
};
/// In the order of the schema.
using OptionList = std::vector<OptionValue>;

/// Null where there is no such key.
const OptionValue* find_option(const OptionList& list, const std::string& key);

/// In the order of OptionData's alternatives.
enum class OptionKind { boolean, integer, real, text, integers, reals, texts };

struct OptionRule {
  std::string key;
  OptionKind kind = OptionKind::boolean;
  std::optional<OptionData> otherwise;  // the default
  std::optional<double> lo, hi;
  std::vector<std::string> choices;  // of strings
  std::vector<int64_t> numbers;      // of integers
  std::string doc;  // plain text, whatever the plugin wrote
};

/// Errors: plugin, naming the owner and the line that is wrong; a default must itself be allowed.
std::vector<OptionRule> parse_schema(const std::string& text, const std::string& owner);

/// Checks what was written and fills in defaults. `table_name` is "sync": for messages. `also_known` are keys that the core
/// has taken out of `table` already: they are offered where a key is unknown. `at` is where the table was written.
/// An integer will do for a float; nothing else is converted, and nan is no value.
/// Errors: usage; P403 for an unknown key, with the nearest.
OptionList check_options(const std::vector<OptionRule>& rules, const ConfigTable& table, const std::string& table_name,
                         const std::vector<std::string>& also_known, const Position& at = {});

/// The value as an option of that kind, nothing where it is of another.
std::optional<OptionData> option_data(const ConfigValue& v, OptionKind kind);
/// Whether range and choices admit it: each element of a list.
bool is_allowed(const OptionRule& rule, const OptionData& value);

/// A value as TOML.
std::string toml_text(const OptionData& value);
/// "int", "[string]".
const char* name_of(OptionKind kind);
/// "4..", "0..1" or "a, b", as plain text: empty where everything is allowed.
std::string allowed_text(const OptionRule& rule);

}  // namespace convoy::experiment
