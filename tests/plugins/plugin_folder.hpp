// A folder of plugins for one test: fixtures are copied into it, so that modes and contents can be changed.
// Not the build's own plugin folder.
#pragma once

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace convoy::testing {

/// A new folder that only the user may enter, removed with everything in it.
class PluginFolder {
 public:
  PluginFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "convoy-plugins-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    path_ = std::filesystem::canonical(pattern);
  }
  ~PluginFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  PluginFolder(const PluginFolder&) = delete;
  PluginFolder& operator=(const PluginFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Where the build put a fixture.
  static std::filesystem::path built(const std::string& fixture) {
    return std::filesystem::path(CONVOY_BUILD_DIR) / "tests" / "plugins" / fixture / (fixture + ".convoy.so");
  }

  /// Copies a fixture here, under its own or another name: "a.convoy.so". Returns its new place, mode 0644.
  std::filesystem::path add(const std::string& fixture, const std::string& as = {}) {
    return add_file(built(fixture), as.empty() ? fixture + ".convoy.so" : as);
  }
  std::filesystem::path add_file(const std::filesystem::path& file, const std::string& as) {
    namespace fs = std::filesystem;
    REQUIRE_MESSAGE(fs::exists(file), file.string() << " was not built");
    fs::copy_file(file, path_ / as, fs::copy_options::overwrite_existing);
    fs::permissions(path_ / as, fs::perms(0644));
    return path_ / as;
  }
  std::filesystem::path write(const std::string& name, const std::string& bytes) {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    std::filesystem::permissions(path_ / name, std::filesystem::perms(0644));
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

inline std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace convoy::testing
