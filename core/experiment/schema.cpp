#include "experiment/schema.hpp"

#include "experiment/toml_reader.hpp"
#include "nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace convoy::experiment {

namespace {

constexpr std::pair<const char*, OptionKind> kKinds[] = {
    {"bool", OptionKind::boolean},   {"int", OptionKind::integer},   {"float", OptionKind::real},   {"string", OptionKind::text},
    {"[int]", OptionKind::integers}, {"[float]", OptionKind::reals}, {"[string]", OptionKind::texts}};

std::string trimmed(const std::string& s) {
  const auto first = s.find_first_not_of(" \t\r"), last = s.find_last_not_of(" \t\r");
  return first == std::string::npos ? "" : s.substr(first, last - first + 1);
}

bool is_list(OptionKind k) { return k >= OptionKind::integers; }

/// A scalar of the wanted kind; an integer will do for a float.
std::optional<OptionData> scalar(const ConfigValue& v, OptionKind kind) {
  if (kind == OptionKind::boolean && v.as<bool>()) return *v.as<bool>();
  if (kind == OptionKind::integer && v.as<int64_t>()) return *v.as<int64_t>();
  if (kind == OptionKind::real && v.as<double>()) return *v.as<double>();
  if (kind == OptionKind::real && v.as<int64_t>()) return static_cast<double>(*v.as<int64_t>());
  if (kind == OptionKind::text && v.as<std::string>()) return *v.as<std::string>();
  return std::nullopt;
}

template <class T>
std::optional<OptionData> list_of(const ConfigArray& a, OptionKind element) {
  std::vector<T> out;
  for (const auto& x : a) {
    const auto one = scalar(x, element);
    if (!one) return std::nullopt;
    out.push_back(std::get<T>(*one));
  }
  return OptionData(std::move(out));
}

std::optional<OptionData> convert(const ConfigValue& v, OptionKind kind) {
  if (!is_list(kind)) return scalar(v, kind);
  const auto* a = v.as<ConfigArray>();
  if (a == nullptr) return std::nullopt;
  if (kind == OptionKind::integers) return list_of<int64_t>(*a, OptionKind::integer);
  if (kind == OptionKind::reals) return list_of<double>(*a, OptionKind::real);
  return list_of<std::string>(*a, OptionKind::text);
}

bool number_allowed(const OptionRule& r, double v) { return (!r.lo || v >= *r.lo) && (!r.hi || v <= *r.hi); }

bool text_allowed(const OptionRule& r, const std::string& s) {
  return r.choices.empty() || std::find(r.choices.begin(), r.choices.end(), s) != r.choices.end();
}

bool allowed(const OptionRule& r, const OptionData& d) {
  return std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, bool>) return true;
        else if constexpr (std::is_arithmetic_v<T>) return number_allowed(r, static_cast<double>(v));
        else if constexpr (std::is_same_v<T, std::string>) return text_allowed(r, v);
        else if constexpr (std::is_same_v<T, std::vector<std::string>>)
          return std::all_of(v.begin(), v.end(), [&](const auto& s) { return text_allowed(r, s); });
        else return std::all_of(v.begin(), v.end(), [&](auto x) { return number_allowed(r, static_cast<double>(x)); });
      },
      d);
}

/// Reads one line of a schema.
class LineReader {
 public:
  LineReader(const std::string& line, const std::string& owner) : line_(line), owner_(owner) {}

  OptionRule read() {
    OptionRule rule;
    std::string rest = take_doc(rule);
    const auto colon = rest.find(':');
    if (colon == std::string::npos) refuse("has no ':' behind its name");
    rule.key = trimmed(rest.substr(0, colon));
    if (rule.key.empty() || rule.key.find_first_of(" \t=[]\"") != std::string::npos) refuse("has no name");
    rest = trimmed(rest.substr(colon + 1));
    rest = take_type(rule, rest);
    rest = take_allowed(rule, rest);
    take_default(rule, rest);
    return rule;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::plugin, fmt::format("the option schema of '{}' is wrong: '{}' {}", owner_, line_, why))
        .note("fix", "name : type = default [allowed] # documentation");
  }

  std::string take_doc(OptionRule& rule) const {
    bool in_string = false;
    for (std::size_t i = 0; i < line_.size(); ++i) {
      if (line_[i] == '"' && (i == 0 || line_[i - 1] != '\\')) in_string = !in_string;
      if (line_[i] != '#' || in_string) continue;
      rule.doc = trimmed(line_.substr(i + 1));
      return trimmed(line_.substr(0, i));
    }
    return line_;
  }

  std::string take_type(OptionRule& rule, const std::string& rest) const {
    for (const auto& [name, kind] : kKinds) {
      const std::string n = name;
      const bool ends = rest.size() == n.size() || (rest.size() > n.size() && (rest[n.size()] == ' ' || rest[n.size()] == '='));
      if (rest.compare(0, n.size(), n) != 0 || !ends) continue;
      rule.kind = kind;
      return trimmed(rest.substr(n.size()));
    }
    refuse("has no known type");
  }

  /// The last bracket, unless it is the default of a list.
  std::string take_allowed(OptionRule& rule, const std::string& rest) const {
    if (rest.empty() || rest.back() != ']') return rest;
    const auto open = rest.rfind('[');
    const std::string inside = rest.substr(open + 1, rest.size() - open - 2);
    const auto dots = inside.find("..");
    const std::string before = trimmed(rest.substr(0, open));
    if (dots != std::string::npos && inside.find('"') == std::string::npos) {
      rule.lo = bound(inside.substr(0, dots));
      rule.hi = bound(inside.substr(dots + 2));
      return before;
    }
    if (before.empty() || before == "=") return rest;  // the default of a list
    std::istringstream in(inside);
    for (std::string part; std::getline(in, part, '|');) {
      part = trimmed(part);
      if (part.size() < 2 || part.front() != '"' || part.back() != '"') refuse("lists a choice that is no quoted string");
      rule.choices.push_back(part.substr(1, part.size() - 2));
    }
    return before;
  }

  std::optional<double> bound(const std::string& text) const {
    const std::string t = trimmed(text);
    if (t.empty()) return std::nullopt;
    char* end = nullptr;
    const double v = std::strtod(t.c_str(), &end);
    if (*end != '\0') refuse("has a bound that is no number");
    return v;
  }

  void take_default(OptionRule& rule, const std::string& rest) const {
    if (rest.empty()) return;
    if (rest[0] != '=') refuse(fmt::format("has '{}' where '= default' is expected", rest));
    ConfigTable t;
    try {
      t = parse_toml("v " + rest, "default");
    } catch (const Error&) {
      refuse("has a default that is no TOML value");
    }
    rule.otherwise = convert(t.entries().at(0).value, rule.kind);
    if (!rule.otherwise) refuse("has a default of another type");
    if (!allowed(rule, *rule.otherwise)) refuse("has a default that is not allowed");
  }

  const std::string& line_;
  const std::string& owner_;
};

/// A table's leaves with dotted keys.
void flatten(const ConfigTable& table, const std::string& prefix, std::vector<ConfigEntry>& out) {
  for (const ConfigEntry& e : table.entries()) {
    if (const auto* inner = e.value.as<ConfigTable>())
      flatten(*inner, prefix + e.key + ".", out);
    else
      out.push_back({prefix + e.key, e.at, e.value});
  }
}

[[noreturn]] void unknown_key(const ConfigEntry& e, const std::vector<OptionRule>& rules, const std::string& table,
                              const std::vector<std::string>& also_known) {
  std::vector<std::string> known;
  for (const auto& r : rules) known.push_back(r.key);
  known.insert(known.end(), also_known.begin(), also_known.end());
  Error error(ErrorKind::usage, fmt::format("unknown option '{}' in [{}] ({})", e.key, table, to_string(e.at)), "P403");
  error.note("known", join_names(known));
  if (const auto near = nearest_name(e.key, known); !near.empty()) error.note("fix", fmt::format("did you mean '{}'?", near));
  throw error;
}

OptionValue check_one(const OptionRule& rule, const ConfigEntry& e, const std::string& table) {
  const auto value = convert(e.value, rule.kind);
  if (!value)
    throw Error(ErrorKind::usage, fmt::format("{}: {}.{} = {} is {}; {} is expected", to_string(e.at), table, e.key,
                                              shown(e.value), kind_text(e.value), name_of(rule.kind)));
  if (!allowed(rule, *value)) {
    Error error(ErrorKind::usage, fmt::format("{}: {}.{} = {} is not allowed", to_string(e.at), table, e.key, shown(e.value)));
    error.note("known", allowed_text(rule));
    if (const auto* s = std::get_if<std::string>(&*value))
      if (const auto near = nearest_name(*s, rule.choices); !near.empty()) error.note("fix", fmt::format("did you mean '{}'?", near));
    throw error;
  }
  return {rule.key, *value};
}

}  // namespace

const OptionValue* find_option(const OptionList& list, const std::string& key) {
  const auto it = std::find_if(list.begin(), list.end(), [&](const OptionValue& o) { return o.key == key; });
  return it == list.end() ? nullptr : &*it;
}

const char* name_of(OptionKind kind) {
  for (const auto& [name, k] : kKinds)
    if (k == kind) return name;
  return "?";
}

std::string allowed_text(const OptionRule& r) {
  if (!r.choices.empty()) return join_names(r.choices);
  if (!r.lo && !r.hi) return "";
  const auto end = [](const std::optional<double>& v) { return v ? fmt::format("{}", *v) : std::string(); };
  return fmt::format("{}..{}", end(r.lo), end(r.hi));
}

std::string toml_text(const OptionData& value) {
  return std::visit(
      [](const auto& v) -> std::string {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, bool>) return v ? "true" : "false";
        else if constexpr (std::is_same_v<T, int64_t>) return std::to_string(v);
        else if constexpr (std::is_same_v<T, double>) return float_text(v);
        else if constexpr (std::is_same_v<T, std::string>) return quoted(v);
        else {
          std::string out;
          for (const auto& x : v) out += (out.empty() ? "" : ", ") + toml_text(OptionData(x));
          return "[" + out + "]";
        }
      },
      value);
}

std::vector<OptionRule> parse_schema(const std::string& text, const std::string& owner) {
  std::vector<OptionRule> rules;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    line = trimmed(line);
    if (line.empty() || line[0] == '#') continue;
    rules.push_back(LineReader(line, owner).read());
    for (std::size_t i = 0; i + 1 < rules.size(); ++i)
      if (rules[i].key == rules.back().key)
        throw Error(ErrorKind::plugin, fmt::format("the option schema of '{}' names '{}' twice", owner, rules[i].key));
  }
  return rules;
}

OptionList check_options(const std::vector<OptionRule>& rules, const ConfigTable& table, const std::string& table_name,
                         const std::vector<std::string>& also_known) {
  std::vector<ConfigEntry> given;
  flatten(table, "", given);
  for (const ConfigEntry& e : given)
    if (std::none_of(rules.begin(), rules.end(), [&](const OptionRule& r) { return r.key == e.key; }))
      unknown_key(e, rules, table_name, also_known);
  OptionList out;
  for (const OptionRule& rule : rules) {
    const auto e = std::find_if(given.begin(), given.end(), [&](const ConfigEntry& g) { return g.key == rule.key; });
    if (e != given.end())
      out.push_back(check_one(rule, *e, table_name));
    else if (rule.otherwise)
      out.push_back({rule.key, *rule.otherwise});
    else
      throw Error(ErrorKind::usage, fmt::format("[{}] needs '{}' ({}{})", table_name, rule.key, name_of(rule.kind),
                                                rule.doc.empty() ? "" : ": " + rule.doc));
  }
  return out;
}

}  // namespace convoy::experiment
