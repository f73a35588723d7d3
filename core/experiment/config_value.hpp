// A parsed configuration: ordered tables of values that know where they were written.
// Independent of the parser that made them, and of what any key means.
#pragma once

#include "error.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace convoy::experiment {

/// A date or time, kept as its normalised text; nothing in an experiment means one.
struct TimeText {
  enum class Kind { datetime, datetime_local, date_local, time_local } kind;
  std::string text;
  bool operator==(const TimeText&) const = default;
};

class ConfigValue;
struct ConfigEntry;

using ConfigArray = std::vector<ConfigValue>;

/// Entries in the order in which they were written; keys are unique.
class ConfigTable {
 public:
  const std::vector<ConfigEntry>& entries() const { return entries_; }
  std::vector<ConfigEntry>& entries() { return entries_; }
  /// Null where the key is absent.
  const ConfigEntry* find(const std::string& key) const;
  ConfigEntry* find(const std::string& key);
  void set(const std::string& key, const Position& at, ConfigValue value);
  void erase(const std::string& key);

 private:
  std::vector<ConfigEntry> entries_;
};

class ConfigValue {
 public:
  using Data = std::variant<bool, int64_t, double, std::string, TimeText, ConfigArray, ConfigTable>;

  ConfigValue();  // false
  ConfigValue(Data d, Position p);

  template <class T>
  const T* as() const {
    return std::get_if<T>(&data);
  }

  Data data;
  Position at;
};

struct ConfigEntry {
  std::string key;
  Position at;
  ConfigValue value;
};

// Here, because a table's entries must be complete by then.
inline ConfigValue::ConfigValue() : data(false) {}
inline ConfigValue::ConfigValue(Data d, Position p) : data(std::move(d)), at(std::move(p)) {}

/// "a string", "a table": what was written, for messages.
std::string kind_text(const ConfigValue& v);
/// The value as one would write it in TOML, cut to a readable length.
std::string shown(const ConfigValue& v);
/// A string as a TOML basic string, control characters escaped; valid UTF-8 is expected.
std::string quoted(const std::string& text);
/// A key as one would write it: quoted unless it is a bare one.
std::string key_text(const std::string& key);
/// A float as TOML that reads back as exactly this float, and never as an integer.
std::string float_text(double v);

}  // namespace convoy::experiment
