// Where the data and golden files of the tests lie: CONVOY_SHARED, else ../shared beside the source tree.
// They are not part of the project; a test that needs them skips aloud where they are absent, with a line "skipped: ..."
// that tools/test lists at its end. A CONVOY_SHARED that names no folder is a mistake, and fails.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>

namespace convoy::testing {

inline std::optional<std::filesystem::path> shared_data() {
  const char* named = std::getenv("CONVOY_SHARED");
  const std::filesystem::path folder =
      named != nullptr ? named : std::filesystem::path(CONVOY_SOURCE_DIR) / ".." / "shared";
  if (!std::filesystem::is_directory(folder)) {
    if (named != nullptr) throw std::runtime_error("CONVOY_SHARED is '" + std::string(named) + "', which is no folder");
    return std::nullopt;
  }
  return std::filesystem::canonical(folder);
}

}  // namespace convoy::testing
