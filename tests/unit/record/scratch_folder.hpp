// Folders for tests: one of their own that goes away, and the shared data, which may be absent.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>

namespace convoy::record::test {

/// An empty folder, removed with everything in it.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "convoy-record-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void put(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

/// Names in a folder, hidden ones too: what an interrupted writer would leave.
inline std::size_t entries_in(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

/// The data that lies beside the source tree; $CONVOY_SHARED says where if it is elsewhere.
inline std::optional<std::filesystem::path> shared_data(const std::string& name) {
  const char* set = std::getenv("CONVOY_SHARED");
  const std::filesystem::path root = set != nullptr ? set : CONVOY_SOURCE_DIR "/../shared";
  const auto path = root / "data" / name;
  return std::filesystem::exists(path) ? std::optional(path) : std::nullopt;
}

}  // namespace convoy::record::test
