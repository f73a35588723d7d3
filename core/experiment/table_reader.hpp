// Reads the core's own keys of one table: each asked for once, the rest left for a plugin's schema or refused.
// Not for a plugin's keys: those are in schema.hpp.
#pragma once

#include "experiment/config_value.hpp"
#include "nearest.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace convoy::experiment {

/// Borrows the table. Errors of all: usage, with position and what is expected.
class TableReader {
 public:
  TableReader(const ConfigTable& table, std::string name, Position at)
      : table_(table), name_(std::move(name)), at_(std::move(at)) {}

  int64_t integer(const char* key, int64_t otherwise, int64_t lo = INT64_MIN, int64_t hi = INT64_MAX);
  double real(const char* key, double otherwise, double lo, double hi);
  bool boolean(const char* key, bool otherwise);
  std::string text(const char* key, const std::string& otherwise);
  /// One of `known`; `not_yet` are words that mean something and cannot be had in this version.
  std::string choice(const char* key, const std::string& otherwise, const std::vector<std::string>& known,
                     const std::vector<std::string>& not_yet = {});
  std::vector<int64_t> integers(const char* key, int64_t lo);
  std::vector<double> reals(const char* key, double lo, double hi);
  /// For keys with a form of their own; null where absent.
  const ConfigEntry* take(const char* key);

  bool given(const char* key) const { return table_.find(key) != nullptr; }
  /// Where the key, or else the table, was written.
  Position where(const char* key) const;
  /// What nobody asked for.
  ConfigTable rest() const;
  std::vector<std::string> asked() const { return {asked_.begin(), asked_.end()}; }
  /// Refuses what nobody asked for. `elsewhere`: keys that mean something beside another `use`, and which.
  void finish(const std::vector<std::pair<std::string, std::string>>& elsewhere = {}) const;

  [[noreturn]] void refuse(const ConfigEntry& e, const std::string& expected) const;

 private:
  const ConfigTable& table_;
  std::string name_;
  Position at_;
  std::set<std::string> asked_;
};

}  // namespace convoy::experiment
