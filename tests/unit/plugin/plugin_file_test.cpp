// A plugin file that is opened once: what it is, and how a change shows.
#include "plugin/plugin_file.hpp"

#include "error.hpp"
#include "plugin/elf_file.hpp"
#include "plugins/plugin_folder.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

using convoy::Error;
using convoy::plugin::FileIdentity;
using convoy::plugin::identity_at;
using convoy::plugin::PluginFile;
using convoy::testing::PluginFolder;
namespace fs = std::filesystem;

namespace {

std::string refusal(const fs::path& path) {
  try {
    PluginFile{path};
  } catch (const Error& e) {
    CHECK(e.number() == "P208");
    return e.what();
  }
  return "";
}

}  // namespace

TEST_SUITE("plugin file") {
  TEST_CASE("bytes are copied from where they lie, and never from beyond the end") {
    PluginFolder folder;
    const PluginFile file(folder.write("x", "0123456789"));
    CHECK(file.identity().bytes == 10);
    char piece[4] = {};
    CHECK(file.copy(3, piece, 3));
    CHECK(std::string(piece) == "345");
    CHECK(file.copy(10, piece, 0));
    CHECK_FALSE(file.copy(8, piece, 3));
    CHECK_FALSE(file.copy(1000, piece, 1));
  }

  TEST_CASE("what is no file to read is refused at once, with the reason") {
    PluginFolder folder;
    CHECK(refusal(folder.path() / "absent").find("it cannot be opened (No such file or directory)") != std::string::npos);
    CHECK(refusal(folder.path()).find("it is not a regular file") != std::string::npos);
    REQUIRE(mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
    CHECK(refusal(folder.path() / "pipe").find("it is not a regular file") != std::string::npos);  // and does not wait for a writer
  }

  TEST_CASE("a file that was replaced, rewritten or removed has another identity; one that was read has not") {
    PluginFolder folder;
    const fs::path path = folder.write("x", "one");
    const PluginFile file(path);
    CHECK(identity_at(path) == file.identity());
    char byte;
    CHECK(file.copy(0, &byte, 1));
    fs::permissions(path, fs::perms(0600));
    CHECK(identity_at(path) == file.identity());

    const fs::path other = folder.write("y", "two");
    fs::last_write_time(other, fs::last_write_time(path));
    fs::rename(other, path);
    CHECK_FALSE(identity_at(path) == file.identity());
    char kept[3];
    CHECK(file.copy(0, kept, 3));
    CHECK(std::string(kept, 3) == "one");  // the open file is still the first

    const FileIdentity second = identity_at(path);
    fs::last_write_time(path, fs::last_write_time(path) + std::chrono::nanoseconds(1000));
    CHECK_FALSE(identity_at(path) == second);
    fs::remove(path);
    CHECK(identity_at(path) == FileIdentity{});
  }

  TEST_CASE("facts read from a file are those read from its bytes") {
    const fs::path path = PluginFolder::built("plain");
    const std::string bytes = convoy::testing::bytes_of(path);
    const auto from_file = convoy::plugin::read_elf(PluginFile(path), "plain");
    const auto from_memory = convoy::plugin::parse_elf({bytes.begin(), bytes.end()}, "plain");
    CHECK(from_file.manifest == from_memory.manifest);
    CHECK(from_file.build_id == from_memory.build_id);
    CHECK(from_file.needed == from_memory.needed);
    CHECK(from_file.run_path == from_memory.run_path);
    CHECK(from_file.needed.size() > 1);
  }

  TEST_CASE("a file that shrinks while it is read is refused") {
    PluginFolder folder;
    const fs::path path = folder.add("plain");
    const PluginFile file(path);
    fs::resize_file(path, fs::file_size(path) / 2);
    try {
      convoy::plugin::read_elf(file, "plain");
      FAIL("was read");
    } catch (const Error& e) {
      CHECK(std::string(e.what()) == "plain is not a plugin: the file is damaged or cut short");
    }
  }
}
