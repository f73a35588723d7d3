#include "experiment/table_reader.hpp"

#include <algorithm>
#include <cmath>

namespace convoy::experiment {

const ConfigEntry* TableReader::take(const char* key) {
  asked_.insert(key);
  return table_.find(key);
}

Position TableReader::where(const char* key) const {
  const ConfigEntry* e = table_.find(key);
  return e == nullptr ? at_ : e->at;
}

void TableReader::refuse(const ConfigEntry& e, const std::string& expected) const {
  throw Error(ErrorKind::usage, fmt::format("{}: {}.{} = {} is not allowed; {} is expected", to_string(e.at), name_,
                                            key_text(e.key), shown(e.value), expected));
}

namespace {

constexpr double kUnlimited = 9.2e18;  // about the largest integer: a range that reaches it says nothing to the reader

std::string range_text(const char* what, double lo, double hi) {
  const bool low = lo > -kUnlimited, high = hi < kUnlimited;
  if (low && high) return fmt::format("{} from {} to {}", what, lo, hi);
  if (low) return fmt::format("{} of at least {}", what, lo);
  if (high) return fmt::format("{} of at most {}", what, hi);
  return what;
}

std::optional<double> number(const ConfigValue& v) {
  if (const auto* d = v.as<double>()) return *d;
  if (const auto* i = v.as<int64_t>()) return static_cast<double>(*i);
  return std::nullopt;
}

}  // namespace

int64_t TableReader::integer(const char* key, int64_t otherwise, int64_t lo, int64_t hi) {
  const ConfigEntry* e = take(key);
  if (e == nullptr) return otherwise;
  const auto* v = e->value.as<int64_t>();
  if (v == nullptr || *v < lo || *v > hi)
    refuse(*e, range_text("an integer", static_cast<double>(lo), static_cast<double>(hi)));
  return *v;
}

double TableReader::real(const char* key, double otherwise, double lo, double hi) {
  const ConfigEntry* e = take(key);
  if (e == nullptr) return otherwise;
  const auto v = number(e->value);
  if (!v || !std::isfinite(*v) || *v < lo || *v > hi) refuse(*e, range_text("a number", lo, hi));
  return *v;
}

bool TableReader::boolean(const char* key, bool otherwise) {
  const ConfigEntry* e = take(key);
  if (e == nullptr) return otherwise;
  if (e->value.as<bool>() == nullptr) refuse(*e, "true or false");
  return *e->value.as<bool>();
}

std::string TableReader::text(const char* key, const std::string& otherwise) {
  const ConfigEntry* e = take(key);
  if (e == nullptr) return otherwise;
  if (e->value.as<std::string>() == nullptr) refuse(*e, "a string");
  return *e->value.as<std::string>();
}

std::string TableReader::choice(const char* key, const std::string& otherwise, const std::vector<std::string>& known,
                                const std::vector<std::string>& not_yet) {
  const std::string v = text(key, otherwise);
  if (std::find(known.begin(), known.end(), v) != known.end()) return v;
  const bool later = std::find(not_yet.begin(), not_yet.end(), v) != not_yet.end();
  Error error(ErrorKind::usage, fmt::format("{}: {}.{} = {} is {}", to_string(where(key)), name_, key, quoted(v),
                                            later ? "not available in this version" : "not allowed"));
  std::vector<std::string> words;
  for (const auto& word : known) words.push_back(quoted(word));
  error.note("known", join_names(words));
  if (const auto near = nearest_name(v, known); !later && !near.empty()) error.note("fix", fmt::format("did you mean \"{}\"?", near));
  throw error;
}

std::vector<int64_t> TableReader::integers(const char* key, int64_t lo) {
  const ConfigEntry* e = take(key);
  if (e == nullptr) return {};
  const auto* a = e->value.as<ConfigArray>();
  if (a == nullptr) refuse(*e, "a list of integers");
  std::vector<int64_t> out;
  for (const auto& x : *a) {
    if (x.as<int64_t>() == nullptr || *x.as<int64_t>() < lo) refuse(*e, fmt::format("a list of integers of at least {}", lo));
    out.push_back(*x.as<int64_t>());
  }
  return out;
}

std::vector<double> TableReader::reals(const char* key, double lo, double hi) {
  const ConfigEntry* e = take(key);
  if (e == nullptr) return {};
  const auto* a = e->value.as<ConfigArray>();
  if (a == nullptr) refuse(*e, "a list of numbers");
  std::vector<double> out;
  for (const auto& x : *a) {
    const auto v = number(x);
    if (!v || !std::isfinite(*v) || *v < lo || *v > hi) refuse(*e, "a list of " + range_text("numbers", lo, hi));
    out.push_back(*v);
  }
  return out;
}

ConfigTable TableReader::rest() const {
  ConfigTable out;
  for (const ConfigEntry& e : table_.entries())
    if (asked_.count(e.key) == 0) out.entries().push_back(e);
  return out;
}

void TableReader::finish(const std::vector<std::pair<std::string, std::string>>& elsewhere) const {
  for (const ConfigEntry& e : table_.entries()) {
    if (asked_.count(e.key) != 0) continue;
    for (const auto& [key, use] : elsewhere)
      if (e.key == key)
        throw Error(ErrorKind::usage, fmt::format("{}: {}.{} belongs to use = \"{}\"", to_string(e.at), name_, key, use));
    Error error(ErrorKind::usage, fmt::format("{}: unknown key '{}' in [{}]", to_string(e.at), key_text(e.key), name_));
    error.note("known", join_names(asked()));
    if (const auto near = nearest_name(e.key, asked()); !near.empty()) error.note("fix", fmt::format("did you mean '{}'?", near));
    throw error;
  }
}

}  // namespace convoy::experiment
