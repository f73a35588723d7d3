// `--set table.key=value`: one value of the experiment replaced before it is checked.
#include "experiment/experiment.hpp"
#include "experiment/toml_reader.hpp"

#include <fmt/format.h>

namespace convoy::experiment {

namespace {

[[noreturn]] void refuse(const std::string& assignment, const std::string& why) {
  throw Error(ErrorKind::usage, fmt::format("--set {}: {}", assignment, why)).note("fix", "--set optimizer.lr=0.05");
}

std::vector<std::string> key_parts(const std::string& assignment, const std::string& key) {
  std::vector<std::string> out(1);
  bool in_quotes = false;
  for (char c : key) {
    if (c == '"') in_quotes = !in_quotes;
    else if (c == '.' && !in_quotes) out.emplace_back();
    else out.back() += c;
  }
  for (const auto& part : out)
    if (part.empty()) refuse(assignment, fmt::format("'{}' is no key", key));
  if (static_cast<int>(out.size()) > kDeepestNesting) refuse(assignment, "the key has too many parts");
  return out;
}

}  // namespace

void apply_override(ConfigTable& config, const std::string& assignment) {
  const auto eq = assignment.find('=');
  if (eq == std::string::npos || eq == 0) refuse(assignment, "key=value is expected");
  const std::string key = assignment.substr(0, eq), source = "--set " + key;
  const auto parts = key_parts(assignment, key);
  if (parts.size() < 2) refuse(assignment, fmt::format("'{}' names no key of a table", key));
  ConfigTable* table = &config;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    if (table->find(parts[i]) == nullptr) table->set(parts[i], {source, 0, 0}, {ConfigTable{}, {source, 0, 0}});
    ConfigEntry* e = table->find(parts[i]);
    auto* inner = std::get_if<ConfigTable>(&e->value.data);
    if (inner == nullptr) refuse(assignment, fmt::format("'{}' is {}, not a table", parts[i], kind_text(e->value)));
    table = inner;
  }
  table->set(parts.back(), {source, 0, 0}, parse_override_value(assignment.substr(eq + 1), source));
}

}  // namespace convoy::experiment
