#include "plugin/manifest.hpp"

#include "error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <sstream>

namespace convoy::plugin {

namespace {

constexpr Kind kKinds[] = {Kind::model, Kind::device, Kind::comm, Kind::sync, Kind::dataset};

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw Error(ErrorKind::plugin, fmt::format("{} is not a plugin: its manifest {}", file, why), "P208")
      .note("fix", "build it with convoy_add_plugin()");
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);)
    if (!part.empty()) out.push_back(part);
  return out;
}

/// What is written to terminals and logs: no control characters.
bool is_printable(const std::string& text) {
  return std::none_of(text.begin(), text.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

/// What an experiment file may say behind `use`: a slash would make it a path.
bool is_name(const std::string& text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' || c == '+';
  });
}

std::map<std::string, std::string> read_lines(const std::string& text, const std::string& file) {
  std::istringstream in(text);
  std::string line;
  if (!std::getline(in, line) || line != "CONVOYMANIFEST 1") refuse(file, "does not begin with 'CONVOYMANIFEST 1'");
  std::map<std::string, std::string> out;
  while (std::getline(in, line)) {
    if (line.empty()) continue;
    if (!is_printable(line)) refuse(file, "holds control characters");
    const auto eq = line.find('=');
    if (eq == std::string::npos || eq == 0) refuse(file, fmt::format("has the line '{}'; key=value is expected", line));
    if (!out.emplace(line.substr(0, eq), line.substr(eq + 1)).second)
      refuse(file, fmt::format("says '{}' twice", line.substr(0, eq)));
  }
  return out;
}

std::vector<Provided> read_provides(const std::string& text, const std::string& file) {
  std::vector<Provided> out;
  for (const std::string& part : split(text, ';')) {
    const auto colon = part.find(':');
    std::optional<Kind> kind;
    for (Kind k : kKinds)
      if (part.substr(0, colon) == name_of(k)) kind = k;
    if (!kind || colon == std::string::npos || colon + 1 == part.size())
      refuse(file, fmt::format("provides '{}'; kind:name is expected, with a kind of model, device, comm, sync, dataset", part));
    const Provided p{*kind, part.substr(colon + 1)};
    if (!is_name(p.name)) refuse(file, fmt::format("provides '{}'; a name is made of letters, digits and _ - . +", part));
    if (std::find(out.begin(), out.end(), p) != out.end()) refuse(file, fmt::format("provides '{}' twice", part));
    out.push_back(p);
  }
  if (out.empty()) refuse(file, "provides nothing");
  return out;
}

}  // namespace

const char* name_of(Kind k) {
  switch (k) {
    case Kind::model: return "model";
    case Kind::device: return "device";
    case Kind::comm: return "comm";
    case Kind::sync: return "sync";
    case Kind::dataset: return "dataset";
  }
  return "unknown";
}

const char* table_of(Kind k) { return k == Kind::dataset ? "data" : name_of(k); }

Manifest parse_manifest(const std::string& text, const std::string& file) {
  const auto lines = read_lines(text, file);
  const auto get = [&](const char* key) {
    const auto found = lines.find(key);
    return found == lines.end() ? std::string() : found->second;
  };
  const auto number = [&](const char* key) {
    const std::string value = get(key);
    uint32_t out = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), out);
    if (error != std::errc{} || end != value.data() + value.size())
      refuse(file, fmt::format("says {}={}; a number is expected", key, value));
    return out;
  };
  Manifest m;
  m.name = get("name");
  if (m.name.empty()) refuse(file, "has no name");
  if (!is_name(m.name)) refuse(file, fmt::format("says name={}; a name is made of letters, digits and _ - . +", m.name));
  m.version = get("version");
  m.vendor = get("vendor");
  m.provides = read_provides(get("provides"), file);
  m.toolchain = get("toolchain");
  m.source = get("source");
  m.abi = number("abi");
  m.abi_min_minor = number("abi_min_minor");
  m.opset = number("opset");
  m.isa = split(get("isa"), ',');
  if (lines.count("sanitizer") != 0) m.sanitizer = get("sanitizer");
  m.global_libs = split(get("global_libs"), ',');
  m.launch_env = split(get("launch_env"), ',');
  return m;
}

}  // namespace convoy::plugin
