// The core's host and registry over folders of a test, and what they throw.
#pragma once

#include "error.hpp"
#include "plugin/registry.hpp"
#include "plugins/plugin_folder.hpp"
#include "record/log.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace convoy::testing {

/// Keeps what was logged, a line each.
class KeptLog final : public record::LogSink {
 public:
  void write(record::LogLevel, std::string_view, std::string_view message) noexcept override { text += std::string(message) + "\n"; }
  std::string text;
};

class Loader {
 public:
  /// Folders in the order of the search path.
  explicit Loader(const std::vector<std::filesystem::path>& folders) : host(log), registry(host, {folders, {}}) {}

  KeptLog log;
  plugin::Host host;
  plugin::Registry registry;
};

/// What `body` throws; a bug of the test where it throws nothing.
inline Error thrown(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    return e;
  }
  return Error(ErrorKind::bug, "nothing was thrown");
}

/// What using the model of a fixture throws, where the fixture is all there is.
inline Error refusal_of(const std::string& fixture, const std::string& model = {}) {
  PluginFolder folder;
  folder.add(fixture);
  Loader loader({folder.path()});
  return thrown([&] { loader.registry.factory(Kind::model, model.empty() ? fixture : model); });
}

/// The note under a label, "" where there is none.
inline std::string note(const Error& e, const std::string& label) {
  for (const auto& [l, text] : e.notes())
    if (l == label) return text;
  return "";
}

/// The one row of a kind and name; the test ends where there is none.
inline const plugin::Row& row_of(const plugin::Registry& registry, const std::string& kind, const std::string& name,
                                 const std::filesystem::path& folder) {
  for (const auto& row : registry.rows())
    if (row.kind == kind && row.name == name && row.candidate->folder == folder) return row;
  FAIL("no row for " << kind << " " << name << " in " << folder.string());
  return registry.rows()[0];
}

}  // namespace convoy::testing
