// Values of options: from a parsed file, against a rule, as text.
#include "experiment/schema.hpp"
#include "experiment/toml_text.hpp"
#include "nearest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace convoy::experiment {

namespace {

/// A scalar of the wanted kind; an integer will do for a float.
std::optional<OptionData> scalar(const ConfigValue& v, OptionKind kind) {
  if (kind == OptionKind::boolean && v.as<bool>()) return *v.as<bool>();
  if (kind == OptionKind::integer && v.as<int64_t>()) return *v.as<int64_t>();
  if (kind == OptionKind::real && v.as<double>() && !std::isnan(*v.as<double>())) return *v.as<double>();
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

template <class T>
constexpr bool is_list = false;
template <class T>
constexpr bool is_list<std::vector<T>> = true;

/// In long double, which holds every int64_t and every double.
bool one_allowed(const OptionRule& r, long double v) {
  if (!r.numbers.empty()) return std::find(r.numbers.begin(), r.numbers.end(), v) != r.numbers.end();
  return (!r.lo || v >= *r.lo) && (!r.hi || v <= *r.hi);
}

bool one_allowed(const OptionRule& r, const std::string& s) {
  return r.choices.empty() || std::find(r.choices.begin(), r.choices.end(), s) != r.choices.end();
}

}  // namespace

std::optional<OptionData> option_data(const ConfigValue& v, OptionKind kind) {
  if (kind < OptionKind::integers) return scalar(v, kind);
  const auto* a = v.as<ConfigArray>();
  if (a == nullptr) return std::nullopt;
  if (kind == OptionKind::integers) return list_of<int64_t>(*a, OptionKind::integer);
  if (kind == OptionKind::reals) return list_of<double>(*a, OptionKind::real);
  return list_of<std::string>(*a, OptionKind::text);
}

bool is_allowed(const OptionRule& r, const OptionData& d) {
  return std::visit(
      [&](const auto& v) {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, bool>) return true;
        else if constexpr (is_list<T>) return std::all_of(v.begin(), v.end(), [&](const auto& x) { return one_allowed(r, x); });
        else return one_allowed(r, v);
      },
      d);
}

const OptionValue* find_option(const OptionList& list, const std::string& key) {
  const auto it = std::find_if(list.begin(), list.end(), [&](const OptionValue& o) { return o.key == key; });
  return it == list.end() ? nullptr : &*it;
}

const char* name_of(OptionKind kind) {
  static constexpr const char* kNames[] = {"bool", "int", "float", "string", "[int]", "[float]", "[string]"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string allowed_text(const OptionRule& r) {
  if (!r.choices.empty()) return printable(join_names(r.choices));
  if (!r.numbers.empty()) return fmt::format("{}", fmt::join(r.numbers, ", "));
  if (!r.lo && !r.hi) return "";
  const bool whole = r.kind == OptionKind::integer || r.kind == OptionKind::integers;
  const auto end = [whole](const std::optional<double>& v) {
    if (!v) return std::string();
    return whole ? fmt::format("{:.0f}", *v) : fmt::format("{}", *v);  // 16777216, not 1.67772e+07
  };
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

}  // namespace convoy::experiment
