// Tests of sdk/file.hpp.
#include <convoy/sdk/file.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

using namespace convoy;
namespace fs = std::filesystem;

namespace {

struct TemporaryFolder {
  fs::path path = fs::temp_directory_path() / ("convoy-file-" + std::to_string(::getpid()));
  TemporaryFolder() { fs::create_directories(path); }
  ~TemporaryFolder() { fs::remove_all(path); }
};

std::string refusal(const fs::path& path, uint64_t limit = 100) {
  try {
    sdk::read_file(path.string(), limit);
    return {};
  } catch (const sdk::Error& e) {
    CHECK(e.code() == Code::io);
    return e.what();
  }
}

}  // namespace

TEST_SUITE("sdk/file") {
  TEST_CASE("a file is read whole, through a link too") {
    const TemporaryFolder folder;
    std::ofstream(folder.path / "a", std::ios::binary) << std::string("x\0y", 3);
    fs::create_symlink("a", folder.path / "link");
    for (const char* name : {"a", "link"})
      CHECK(sdk::read_file((folder.path / name).string(), 3) == std::vector<unsigned char>{'x', 0, 'y'});
    std::ofstream(folder.path / "empty").flush();
    CHECK(sdk::read_file((folder.path / "empty").string(), 3).empty());
  }

  TEST_CASE("what is not a regular file of bounded size is refused without waiting") {
    const TemporaryFolder folder;
    const fs::path pipe = folder.path / "pipe", large = folder.path / "large";
    REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    CHECK(refusal(pipe) == pipe.string() + ": not a regular file");  // would block for ever if it were opened to read
    CHECK(refusal(folder.path) == folder.path.string() + ": not a regular file");
    std::ofstream(large) << std::string(101, 'x');
    CHECK(refusal(large) == large.string() + ": has 101 bytes; at most 100 are read");
    CHECK(refusal(folder.path / "gone") == (folder.path / "gone").string() + ": No such file or directory");
  }
}
