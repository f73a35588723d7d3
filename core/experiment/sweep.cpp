#include "experiment/sweep.hpp"

#include "experiment/toml_reader.hpp"
#include "experiment/toml_text.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>

namespace convoy::experiment {

namespace {

std::string joined(const std::vector<std::string>& path) {
  std::string out;
  for (const auto& p : path) out += (out.empty() ? "" : ".") + p;
  return out;
}

std::vector<std::string> split_path(const std::string& key) {
  std::vector<std::string> out{""};
  for (const char c : key)
    if (c == '.') out.emplace_back();
    else out.back() += c;
  return out;
}

ConfigTable& table_at(ConfigTable& root, const std::vector<std::string>& path, std::size_t depth, const Position& at) {
  ConfigTable* table = &root;
  for (std::size_t i = 0; i < depth; ++i) {
    if (table->find(path[i]) == nullptr) table->set(path[i], at, {ConfigTable{}, at});
    auto* inner = std::get_if<ConfigTable>(&table->find(path[i])->value.data);
    if (inner == nullptr) throw Error(ErrorKind::usage, fmt::format("{}: sweep: '{}' is no table", to_string(at), path[i]));
    table = inner;
  }
  return *table;
}

std::string plain(const ConfigValue& v) {
  const auto* text = v.as<std::string>();
  return text != nullptr ? *text : shown(v);
}

/// Whether both name a plugin, and not the same one: the options of the one mean nothing to the other.
bool names_another(const ConfigTable& table, const ConfigTable& value) {
  const ConfigEntry *before = table.find("use"), *after = value.find("use");
  return before != nullptr && after != nullptr && plain(before->value) != plain(after->value);
}

void put(SweepPoint& point, const std::vector<std::string>& path, const ConfigValue& value) {
  const auto say = [&](const std::string& key, const ConfigValue& v) { point.label += fmt::format("{}{}={}", point.label.empty() ? "" : " ", key, plain(v)); };
  if (const auto* entries = value.as<ConfigTable>()) {
    ConfigTable& table = table_at(point.config, path, path.size(), value.at);
    if (names_another(table, *entries)) table = {};
    for (const ConfigEntry& e : entries->entries()) {
      table.set(e.key, e.at, e.value);
      say(joined(path) + "." + e.key, e.value);
    }
    return;
  }
  table_at(point.config, path, path.size() - 1, value.at).set(path.back(), value.at, value);
  say(joined(path), value);
}

/// Removes the axis of that name, quoted or bare.
void erase_axis(ConfigTable& table, const std::string& axis, const std::string& prefix) {
  for (ConfigEntry& e : table.entries())
    if (auto* inner = std::get_if<ConfigTable>(&e.value.data)) erase_axis(*inner, axis, prefix + e.key + ".");
  std::erase_if(table.entries(), [&](const ConfigEntry& e) { return prefix + e.key == axis; });
}

/// Splits at commas outside of quotes and brackets.
std::vector<std::string> split_values(const std::string& text) {
  std::vector<std::string> out{""};
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) quote = c == quote ? '\0' : quote;
    else if (c == '"' || c == '\'') quote = c;
    else depth += (c == '[' || c == '{') - (c == ']' || c == '}');
    if (c == ',' && depth == 0 && quote == 0) out.emplace_back();
    else out.back() += c;
  }
  return out;
}

std::string value_text(const ConfigValue& v);

std::string table_text(const ConfigTable& t) {
  std::string out;
  for (const auto& e : t.entries()) out += fmt::format("{}{} = {}", out.empty() ? " " : ", ", key_text(e.key), value_text(e.value));
  return "{" + out + (out.empty() ? "}" : " }");
}

std::string value_text(const ConfigValue& v) {
  if (const auto* t = v.as<ConfigTable>()) return table_text(*t);
  if (const auto* s = v.as<std::string>()) return quoted(*s);
  if (const auto* d = v.as<double>()) return float_text(*d);
  const auto* a = v.as<ConfigArray>();
  if (a == nullptr) return shown(v);
  std::string out;
  for (const auto& x : *a) out += (out.empty() ? "" : ", ") + value_text(x);
  return "[" + out + "]";
}

}  // namespace

void apply_sweep(ConfigTable& config, const std::string& assignment) {
  const std::size_t equals = assignment.find('=');
  const std::string key = assignment.substr(0, equals), text = equals == assignment.npos ? "" : assignment.substr(equals + 1);
  if (key.empty() || text.empty())
    throw Error(ErrorKind::usage, fmt::format("--sweep {}: key=value,value is expected", printable(assignment))).note("fix", "--sweep data.batch=1,2,4");
  const Position at{"--sweep " + key, 0, 0};
  ConfigArray values;
  const std::size_t first = text.find_first_not_of(" \t");
  if (first != text.npos && text[first] == '[')
    values = std::get<ConfigArray>(parse_override_value(text, at.file).data);
  else
    for (const auto& v : split_values(text)) values.push_back(parse_override_value(v, at.file));
  ConfigTable& sweep = table_at(config, {"sweep"}, 1, at);
  erase_axis(sweep, key, "");
  sweep.set(key, at, {std::move(values), at});
}

Sweep::Sweep(const ConfigTable& config) : config_(config) {
  const ConfigEntry* e = config.find("sweep");
  if (e == nullptr) return;
  const auto* table = e->value.as<ConfigTable>();
  if (table == nullptr) throw Error(ErrorKind::usage, fmt::format("{}: 'sweep' is {}; a table is expected", to_string(e->at), kind_text(e->value))).note("fix", "[sweep]");
  collect(*table, {});
  std::set<std::vector<std::string>> paths;
  for (const Axis& axis : axes_) {
    if (!paths.insert(axis.path).second) throw Error(ErrorKind::usage, fmt::format("{}: '{}' is swept twice", to_string(e->at), joined(axis.path)));
    size_ *= axis.values->size();  // neither is above kMostPoints: no overflow
    if (size_ > kMostPoints) throw Error(ErrorKind::usage, fmt::format("{}: [sweep] has more than {} combinations", to_string(e->at), kMostPoints));
  }
}

/// A bare `data.batch = [...]` is a table in a table and means the same as a quoted key.
void Sweep::collect(const ConfigTable& table, const std::vector<std::string>& prefix) {
  for (const ConfigEntry& e : table.entries()) {
    auto path = prefix;
    for (auto& part : split_path(e.key)) path.push_back(std::move(part));
    if (const auto* inner = e.value.as<ConfigTable>()) {
      collect(*inner, path);
      continue;
    }
    const auto* values = e.value.as<ConfigArray>();
    if (values == nullptr || values->empty() || values->size() > kMostPoints)
      throw Error(ErrorKind::usage, fmt::format("{}: sweep.{} = {} is not allowed; a list of values is expected", to_string(e.at), quoted(e.key), shown(e.value)))
          .note("fix", "\"optimizer.lr\" = [0.1, 0.05]");
    if (path[0] == "sweep" || path[0] == "run")
      throw Error(ErrorKind::usage, fmt::format("{}: [{}] cannot be swept", to_string(e.at), path[0])).note("fix", "sweep keys of the other tables");
    std::set<std::string> seen;
    for (const ConfigValue& v : *values)
      if (!seen.insert(value_text(v)).second) throw Error(ErrorKind::usage, fmt::format("{}: sweep.{} has {} twice", to_string(v.at), quoted(e.key), shown(v)));
    axes_.push_back({std::move(path), values});
  }
}

SweepPoint Sweep::point(std::size_t i) const {
  SweepPoint out{"", config_};
  out.config.erase("sweep");
  std::size_t inner = size_;
  for (const Axis& axis : axes_) {
    inner /= axis.values->size();
    put(out, axis.path, (*axis.values)[i / inner % axis.values->size()]);
  }
  return out;
}

std::set<std::string> Sweep::tables() const {
  std::set<std::string> out;
  for (const Axis& axis : axes_) out.insert(axis.path[0]);
  return out;
}

std::string to_toml(const ConfigTable& config) {
  std::string out;
  for (const auto& e : config.entries()) {
    const auto* table = e.value.as<ConfigTable>();
    if (table == nullptr) continue;  // top-level keys that are no tables are refused elsewhere
    out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", key_text(e.key));
    for (const auto& inner : table->entries()) out += fmt::format("{} = {}\n", key_text(inner.key), value_text(inner.value));
  }
  return out;
}

std::string resolved_sweep(const ConfigTable& config, const std::string& first) {
  ConfigTable out = parse_toml(first, "resolved.toml");
  for (const std::string& table : Sweep(config).tables()) {
    const ConfigEntry* written = config.find(table);
    if (written != nullptr) out.set(written->key, written->at, written->value);
    else out.erase(table);
  }
  const ConfigEntry* sweep = config.find("sweep");
  out.set(sweep->key, sweep->at, sweep->value);
  return to_toml(out);
}

}  // namespace convoy::experiment
