// Reads the text of a schema; its grammar stands in schema.hpp. Not the check of a table: that is schema.cpp.
#include "experiment/schema.hpp"
#include "experiment/toml_reader.hpp"
#include "experiment/toml_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <string_view>

namespace convoy::experiment {

namespace {

constexpr std::string_view kSpace = " \t\r";

std::string_view trimmed(std::string_view s) {
  const auto first = s.find_first_not_of(kSpace);
  return first == s.npos ? std::string_view() : s.substr(first, s.find_last_not_of(kSpace) - first + 1);
}

bool is_part_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

/// Reads one line from left to right.
class LineReader {
 public:
  LineReader(std::string_view line, int number, const std::string& owner)
      : line_(trimmed(line)), rest_(line_), number_(number), owner_(owner) {}

  OptionRule read() {
    OptionRule rule;
    rule.key = name();
    if (!skip(":")) refuse("has no ':' behind its name");
    rule.kind = type();
    std::string_view default_text;
    if (skip("=")) default_text = value_text();
    const bool has_default = !default_text.empty();
    if (skip("[")) allowed(rule);
    if (has_default) rule.otherwise = default_value(rule, default_text);
    if (skip("#"))
      rule.doc = printable(trimmed(rest_));
    else if (!rest_.empty())
      refuse(fmt::format("has '{}' where it should end", rest_));
    return rule;
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::plugin, fmt::format("the option schema of '{}' is wrong in line {}: '{}' {}", printable(owner_), number_,
                                               printable(line_), printable(why)))
        .note("fix", "name : type = default [allowed] # documentation");
  }

 private:
  bool skip(std::string_view mark) {
    rest_ = trimmed(rest_);
    if (!rest_.starts_with(mark)) return false;
    rest_.remove_prefix(mark.size());
    return true;
  }

  std::string_view take(std::size_t n) {
    const std::string_view out = rest_.substr(0, n);
    rest_.remove_prefix(out.size());
    return out;
  }

  std::string name() {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), [](char c) { return is_part_letter(c) || c == '.'; });
    const std::string key(take(static_cast<std::size_t>(end - rest_.begin())));
    if (key.empty() || key.front() == '.' || key.back() == '.' || key.find("..") != key.npos) refuse("does not begin with a name");
    return key;
  }

  OptionKind type() {
    rest_ = trimmed(rest_);
    for (const auto kind : {OptionKind::integers, OptionKind::reals, OptionKind::texts, OptionKind::boolean, OptionKind::integer,
                            OptionKind::real, OptionKind::text}) {
      const std::string_view name = name_of(kind);
      if (!rest_.starts_with(name) || (rest_.size() > name.size() && is_part_letter(rest_[name.size()]))) continue;
      rest_.remove_prefix(name.size());
      return kind;
    }
    refuse("has none of the types bool, int, float, string, [int], [float], [string]");
  }

  /// Past a string in quotes that begins at `from`.
  std::size_t string_end(std::size_t from) const {
    const char quote = rest_[from];
    for (std::size_t i = from + 1; i < rest_.size(); ++i) {
      if (rest_[i] == quote) return i + 1;
      if (quote == '"' && rest_[i] == '\\') ++i;
    }
    refuse("has a string that is not closed");
  }

  /// A list up to its bracket, a string up to its quote, or a word.
  std::string_view value_text() {
    rest_ = trimmed(rest_);
    if (rest_.empty()) refuse("has no default behind '='");
    if (rest_[0] == '"' || rest_[0] == '\'') return take(string_end(0));
    if (rest_[0] != '[') {
      const std::string_view word = take(std::min(rest_.find_first_of(" \t\r[#"), rest_.size()));
      if (word.empty()) refuse("has no default behind '='");
      return word;
    }
    std::size_t i = 1;
    while (i < rest_.size() && rest_[i] != ']') i = rest_[i] == '"' || rest_[i] == '\'' ? string_end(i) : i + 1;
    if (i == rest_.size()) refuse("has a list that is not closed");
    return take(i + 1);
  }

  void allowed(OptionRule& rule) {
    rest_ = trimmed(rest_);
    if (rest_.starts_with("\""))
      choices(rule);
    else if (const auto inside = rest_.substr(0, rest_.find(']')); inside.find("..") == inside.npos)
      numbers(rule);
    else
      range(rule);
  }

  void numbers(OptionRule& rule) {
    if (rule.kind != OptionKind::integer && rule.kind != OptionKind::integers)
      refuse("allows neither a range, [lo..hi], nor quoted strings, and integers to choose from are for a type that is one");
    do {
      rest_ = trimmed(rest_);
      const auto number = parsed(take(rest_.find_first_of("|] \t\r")));
      if (!number || number->as<int64_t>() == nullptr) refuse("lists a choice that is no integer");
      rule.numbers.push_back(*number->as<int64_t>());
    } while (skip("|"));
    if (!skip("]")) refuse("has choices that do not end with ']'");
  }

  void choices(OptionRule& rule) {
    if (rule.kind != OptionKind::text && rule.kind != OptionKind::texts) refuse("offers strings to choose from, for a type that is none");
    do {
      rest_ = trimmed(rest_);
      if (!rest_.starts_with("\"")) refuse("lists a choice that is no quoted string");
      const auto choice = parsed(take(string_end(0)));
      if (!choice || choice->as<std::string>() == nullptr) refuse("lists a choice that is no TOML string");
      rule.choices.push_back(*choice->as<std::string>());
    } while (skip("|"));
    if (!skip("]")) refuse("has choices that do not end with ']'");
  }

  void range(OptionRule& rule) {
    const auto close = rest_.find(']');
    if (close == rest_.npos) refuse("has a '[' that is not closed");
    const std::string_view inside = take(close);
    rest_.remove_prefix(1);
    const auto dots = inside.find("..");
    if (rule.kind == OptionKind::boolean || rule.kind == OptionKind::text || rule.kind == OptionKind::texts)
      refuse("has a range, for a type that is no number");
    rule.lo = bound(rule, inside.substr(0, dots));
    rule.hi = bound(rule, inside.substr(dots + 2));
    if (rule.lo && rule.hi && *rule.lo > *rule.hi) refuse("has a range that begins above its end");
  }

  std::optional<double> bound(const OptionRule& rule, std::string_view text) const {
    text = trimmed(text);
    if (text.empty()) return std::nullopt;
    double v = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(v)) refuse("has a bound that is no number");
    const bool whole = rule.kind == OptionKind::integer || rule.kind == OptionKind::integers;
    if (whole && v != std::floor(v)) refuse("has a bound that is no integer");
    return v;
  }

  static std::optional<ConfigValue> parsed(std::string_view value) {
    try {
      const ConfigTable t = parse_toml("v = " + std::string(value), "schema");
      return t.entries().at(0).value;
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  OptionData default_value(const OptionRule& rule, std::string_view text) const {
    const auto value = parsed(text);
    if (!value) refuse("has a default that is no TOML value");
    const auto data = option_data(*value, rule.kind);
    if (!data) refuse("has a default of another type");
    if (!is_allowed(rule, *data)) refuse("has a default that is not allowed");
    return *data;
  }

  std::string_view line_;
  std::string_view rest_;
  int number_;
  const std::string& owner_;
};

/// "a" and "a.b" cannot both be: the first is a value, the second makes it a table.
bool clash(const std::string& a, const std::string& b) { return a == b || a.starts_with(b + ".") || b.starts_with(a + "."); }

}  // namespace

std::vector<OptionRule> parse_schema(const std::string& text, const std::string& owner) {
  std::vector<OptionRule> rules;
  std::istringstream in(text);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const std::string_view content = trimmed(line);
    if (content.empty() || content[0] == '#') continue;
    LineReader reader(line, number, owner);
    const OptionRule rule = reader.read();
    for (const OptionRule& r : rules)
      if (clash(r.key, rule.key)) reader.refuse(r.key == rule.key ? "names a key twice" : fmt::format("is at odds with '{}'", r.key));
    rules.push_back(rule);
  }
  return rules;
}

}  // namespace convoy::experiment
