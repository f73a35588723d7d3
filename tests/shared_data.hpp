// Where the data and golden files of the tests lie: CONVOY_SHARED, else ../shared beside the source tree.
// They are not part of the project; a test that needs them skips aloud where they are absent.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <optional>

namespace convoy::testing {

inline std::optional<std::filesystem::path> shared_data() {
  const char* named = std::getenv("CONVOY_SHARED");
  const std::filesystem::path folder =
      named != nullptr ? named : std::filesystem::path(CONVOY_SOURCE_DIR) / ".." / "shared";
  if (!std::filesystem::is_directory(folder)) return std::nullopt;
  return std::filesystem::canonical(folder);
}

}  // namespace convoy::testing
