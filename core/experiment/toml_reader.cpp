// The one translation unit that includes toml++. Header-only so that the nesting limit holds, with assertions that throw.
#undef NDEBUG
#include <stdexcept>

namespace convoy::experiment {
struct ParserAssertion : std::logic_error {
  using std::logic_error::logic_error;
};
[[noreturn]] inline void parser_assertion(const char* what) { throw ParserAssertion(what); }
}  // namespace convoy::experiment

#define TOML_HEADER_ONLY 1
#define TOML_EXCEPTIONS 1
#define TOML_MAX_NESTED_VALUES 32
#define TOML_ASSERT(expr) ((expr) ? static_cast<void>(0) : ::convoy::experiment::parser_assertion(#expr))
#include <toml++/toml.h>

#include "experiment/toml_reader.hpp"
#include "experiment/toml_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <sstream>

namespace convoy::experiment {

namespace {

static_assert(TOML_MAX_NESTED_VALUES == kDeepestNesting);

Position position(const toml::source_region& r, const std::string& source) {
  return {source, static_cast<int>(r.begin.line), static_cast<int>(r.begin.column)};
}

template <class T>
std::string written(const T& v) {
  std::ostringstream out;
  out << v;
  return out.str();
}

ConfigTable convert(const toml::table& table, const std::string& source);

TimeText time_of(const toml::node& n) {
  if (const auto* t = n.as_date()) return {TimeText::Kind::date_local, written(t->get())};
  if (const auto* t = n.as_time()) return {TimeText::Kind::time_local, written(t->get())};
  const auto& dt = n.as_date_time()->get();
  return {dt.is_local() ? TimeText::Kind::datetime_local : TimeText::Kind::datetime, written(dt)};
}

ConfigValue convert(const toml::node& n, const std::string& source) {
  const Position at = position(n.source(), source);
  if (const auto* v = n.as_boolean()) return {v->get(), at};
  if (const auto* v = n.as_integer()) return {v->get(), at};
  if (const auto* v = n.as_floating_point()) return {v->get(), at};
  if (const auto* v = n.as_string()) return {v->get(), at};
  if (const auto* v = n.as_table()) return {convert(*v, source), at};
  if (const auto* v = n.as_array()) {
    ConfigArray out;
    for (const auto& x : *v) out.push_back(convert(x, source));
    return {std::move(out), at};
  }
  return {time_of(n), at};
}

/// toml++ keeps tables sorted by key; positions give the order of writing back.
ConfigTable convert(const toml::table& table, const std::string& source) {
  ConfigTable out;
  for (const auto& [key, node] : table)
    out.entries().push_back({std::string(key.str()), position(key.source(), source), convert(node, source)});
  std::stable_sort(out.entries().begin(), out.entries().end(), [](const ConfigEntry& a, const ConfigEntry& b) {
    return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
  });
  return out;
}

}  // namespace

ConfigTable parse_toml(std::string_view text, const std::string& source) {
  check_toml_text(text, source);
  try {
    return convert(toml::parse(text, source), source);
  } catch (const toml::parse_error& e) {
    const Position at = position(e.source(), source);
    throw Error(ErrorKind::usage, fmt::format("{}: {}", to_string(at), e.description()));
  } catch (const ParserAssertion&) {
    throw Error(ErrorKind::usage, fmt::format("{}:1:1: this is not TOML that can be read", source));
  }
}

ConfigTable read_toml_file(const std::filesystem::path& path) {
  const std::string source = path.string();
  std::error_code ec;
  const auto status = std::filesystem::status(path, ec);
  if (!std::filesystem::exists(status)) throw Error(ErrorKind::usage, fmt::format("'{}' does not exist", source));
  if (!std::filesystem::is_regular_file(status)) throw Error(ErrorKind::usage, fmt::format("'{}' is not a file", source));
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(ErrorKind::usage, fmt::format("'{}' cannot be read", source));
  std::string text(kLargestFile + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(in.gcount()));
  return parse_toml(text, source);
}

ConfigValue parse_override_value(std::string_view text, const std::string& source) {
  try {
    const ConfigTable t = parse_toml("v = " + std::string(text), source);
    if (t.entries().size() == 1 && t.entries()[0].key == "v") {
      ConfigValue v = t.entries()[0].value;
      v.at = {source, 0, 0};
      return v;
    }
  } catch (const Error&) {
    // not TOML: a bare word, as people type it
  }
  return {std::string(text), {source, 0, 0}};
}

}  // namespace convoy::experiment
