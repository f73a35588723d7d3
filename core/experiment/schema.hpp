// Options of a plugin: their schema as text, and a table checked against it.
//
// One key a line:  name : type = default [allowed] # documentation
//   type     bool int float string, or [int] [float] [string] for lists of them
//   default  a TOML value; without "= default" the key must be given
//   allowed  [lo..hi] with either end left out (numbers, elements of lists), or ["a"|"b"|"c"] (strings)
// Names may be dotted ("link.latency"): nested tables. Empty lines and lines that begin with # are skipped.
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

enum class OptionKind { boolean, integer, real, text, integers, reals, texts };

struct OptionRule {
  std::string key;
  OptionKind kind = OptionKind::boolean;
  std::optional<OptionData> otherwise;  // the default
  std::optional<double> lo, hi;
  std::vector<std::string> choices;
  std::string doc;
};

/// Errors: plugin, naming the owner and the line that is wrong.
std::vector<OptionRule> parse_schema(const std::string& text, const std::string& owner);

/// Checks what was written and fills in defaults. `table_name` is "sync": for messages. `also_known` are keys that belong to
/// the core and are skipped. Errors: usage; P403 for an unknown key, with the nearest.
OptionList check_options(const std::vector<OptionRule>& rules, const ConfigTable& table, const std::string& table_name,
                         const std::vector<std::string>& also_known);

/// A value as TOML.
std::string toml_text(const OptionData& value);
/// "int", "[string]".
const char* name_of(OptionKind kind);
/// "[4..]", "one of a, b": empty where everything is allowed.
std::string allowed_text(const OptionRule& rule);

}  // namespace convoy::experiment
