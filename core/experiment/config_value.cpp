#include "experiment/config_value.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace convoy::experiment {

const ConfigEntry* ConfigTable::find(const std::string& key) const {
  const auto it = std::find_if(entries_.begin(), entries_.end(), [&](const ConfigEntry& e) { return e.key == key; });
  return it == entries_.end() ? nullptr : &*it;
}

ConfigEntry* ConfigTable::find(const std::string& key) {
  return const_cast<ConfigEntry*>(std::as_const(*this).find(key));
}

void ConfigTable::set(const std::string& key, const Position& at, ConfigValue value) {
  if (ConfigEntry* e = find(key)) {
    e->at = at;
    e->value = std::move(value);
  } else {
    entries_.push_back({key, at, std::move(value)});
  }
}

void ConfigTable::erase(const std::string& key) {
  std::erase_if(entries_, [&](const ConfigEntry& e) { return e.key == key; });
}

std::string kind_text(const ConfigValue& v) {
  static const char* const kNames[] = {"true or false", "an integer", "a float", "a string", "a date or time", "an array", "a table"};
  return kNames[v.data.index()];
}

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (c == '"' || c == '\\') {
      out += {'\\', text[i]};
    } else if (c == '\n' || c == '\t' || c == '\r') {
      out += {'\\', c == '\n' ? 'n' : c == '\t' ? 't' : 'r'};
    } else if (c < 0x20 || c == 0x7f) {
      out += fmt::format("\\u{:04X}", c);
    } else if (c == 0xC2 && next >= 0x80 && next < 0xA0) {  // U+0080 to U+009F: terminals obey them
      out += fmt::format("\\u{:04X}", next);
      ++i;
    } else {
      out += text[i];
    }
  }
  return out + "\"";
}

std::string key_text(const std::string& key) {
  static constexpr const char* kBare = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  const bool bare = !key.empty() && key.find_first_not_of(kBare) == key.npos;
  return bare ? key : quoted(key);
}

std::string float_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  std::string out = fmt::format("{}", v);  // shortest text that reads back the same
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

namespace {

constexpr std::size_t kLongest = 60;

std::string full_text(const ConfigValue& v) {
  if (const auto* b = v.as<bool>()) return *b ? "true" : "false";
  if (const auto* i = v.as<int64_t>()) return std::to_string(*i);
  if (const auto* d = v.as<double>()) return float_text(*d);
  if (const auto* s = v.as<std::string>()) return quoted(*s);
  if (const auto* t = v.as<TimeText>()) return t->text;
  if (const auto* a = v.as<ConfigArray>()) {
    std::string out;
    for (const auto& x : *a) {
      out += (out.empty() ? "" : ", ") + full_text(x);
      if (out.size() > kLongest) break;
    }
    return "[" + out + "]";
  }
  return "{ ... }";
}

}  // namespace

std::string shown(const ConfigValue& v) {
  std::string out = full_text(v);
  if (out.size() <= kLongest) return out;
  std::size_t cut = kLongest - 3;
  while (cut > 0 && (static_cast<unsigned char>(out[cut]) & 0xc0) == 0x80) --cut;  // never inside a character
  return out.substr(0, cut) + "...";
}

}  // namespace convoy::experiment
