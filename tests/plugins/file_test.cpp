// What is said about files that are no plugins, and about those that others could change: P104, P208.
#include "plugins/loader.hpp"

#include <doctest/doctest.h>

#include <sys/stat.h>

#include <filesystem>
#include <string>

using namespace convoy;
using namespace convoy::testing;
namespace fs = std::filesystem;

namespace {

/// Why a file of these bytes is refused.
Error refusal_of_bytes(const std::string& bytes) {
  PluginFolder folder;
  folder.write("x.convoy.so", bytes);
  const auto c = plugin::examine(folder.path() / "x.convoy.so", folder.path());
  REQUIRE(c.refused);
  CHECK(c.refused->number() == "P208");
  CHECK(c.refused->exit_code() == 4);
  CHECK(std::string(c.refused->what()).find((folder.path() / "x.convoy.so").string() + " is not a plugin: ") == 0);
  return *c.refused;
}

}  // namespace

TEST_SUITE("plugin files") {
  TEST_CASE("P104: a plugin that all may write to is refused, with its mode and the remedy") {
    PluginFolder folder;
    fs::permissions(folder.add("plain"), fs::perms(0777));
    Loader loader({folder.path()});
    REQUIRE(loader.registry.rows().size() == 1);
    const auto& refused = loader.registry.rows()[0].candidate->refused;
    REQUIRE(refused);
    CHECK(refused->number() == "P104");
    CHECK(refused->exit_code() == 4);
    CHECK(std::string(refused->what()) == "refusing to load " + (folder.path() / "plain.convoy.so").string() +
                                              ": it is writable by other users (mode 0777)");
    CHECK(note(*refused, "fix").find("chmod go-w ") == 0);
  }

  TEST_CASE("P104: a good file in a folder that all may write to is refused") {
    PluginFolder folder;
    folder.add("plain");
    fs::permissions(folder.path(), fs::perms(0777));
    Loader loader({folder.path()});
    REQUIRE(loader.registry.rows()[0].candidate->refused);
    CHECK(loader.registry.rows()[0].candidate->refused->number() == "P104");
    fs::permissions(folder.path(), fs::perms(0700));
  }

  TEST_CASE("P104: a link in a folder that all may write to does not make its target trusted") {
    PluginFolder good, open;
    good.add("plain");
    fs::create_symlink(good.path() / "plain.convoy.so", open.path() / "link.convoy.so");
    CHECK_FALSE(plugin::examine(open.path() / "link.convoy.so", open.path()).refused);
    fs::permissions(open.path(), fs::perms(0777));
    const auto c = plugin::examine(open.path() / "link.convoy.so", open.path());
    REQUIRE(c.refused);
    CHECK(c.refused->number() == "P104");
    fs::permissions(open.path(), fs::perms(0700));
  }

  TEST_CASE("P104: a link to a file in a folder that all may write to is refused") {
    PluginFolder good, open;
    open.add("plain");
    fs::permissions(open.path(), fs::perms(0777));
    fs::create_symlink(open.path() / "plain.convoy.so", good.path() / "link.convoy.so");
    const auto c = plugin::examine(good.path() / "link.convoy.so", good.path());
    REQUIRE(c.refused);
    CHECK(c.refused->number() == "P104");
    fs::permissions(open.path(), fs::perms(0700));
  }

  TEST_CASE("P208: a library without a manifest is no plugin") {
    PluginFolder folder;
    const auto file = folder.add("not_a_plugin", "libfoo.convoy.so");
    const auto c = plugin::examine(file, folder.path());
    REQUIRE(c.refused);
    CHECK(c.refused->number() == "P208");
    CHECK(std::string(c.refused->what()) == file.string() + " is not a plugin: it has no .convoy_manifest section");
    CHECK(note(*c.refused, "fix") == "build it with convoy_add_plugin()");
  }

  TEST_CASE("P208: a text file is no plugin") {
    CHECK(std::string(refusal_of_bytes("#!/bin/sh\necho no\n").what()).find("it is not an ELF file") != std::string::npos);
  }

  TEST_CASE("P208: an empty file is no plugin") {
    CHECK(std::string(refusal_of_bytes("").what()).find("it is not an ELF file") != std::string::npos);
  }

  TEST_CASE("P208: a plugin that was cut short is no plugin") {
    const std::string whole = bytes_of(PluginFolder::built("plain"));
    CHECK(std::string(refusal_of_bytes(whole.substr(0, whole.size() / 2)).what()).find("damaged or cut short") != std::string::npos);
  }

  TEST_CASE("P208: a plugin for 32 bits is no plugin here") {
    std::string bytes = bytes_of(PluginFolder::built("plain"));
    bytes[4] = 1;  // EI_CLASS = ELFCLASS32
    CHECK(std::string(refusal_of_bytes(bytes).what()).find("it is not a 64-bit little-endian library") != std::string::npos);
  }

  TEST_CASE("P208: a folder, a pipe, a link to nothing and a link to itself are no plugins, and do not block") {
    PluginFolder folder;
    fs::create_directory(folder.path() / "a.convoy.so");
    REQUIRE(mkfifo((folder.path() / "b.convoy.so").c_str(), 0600) == 0);
    fs::create_symlink("nowhere", folder.path() / "c.convoy.so");
    fs::create_symlink("d.convoy.so", folder.path() / "d.convoy.so");
    Loader loader({folder.path()});
    REQUIRE(loader.registry.rows().size() == 4);
    for (const auto& row : loader.registry.rows()) {
      REQUIRE(row.candidate->refused);
      CHECK(row.candidate->refused->number() == "P208");
    }
  }

  TEST_CASE("one refused file stops nothing else in its folder") {
    PluginFolder folder;
    folder.write("a.convoy.so", "text");
    folder.add("newer_epoch");
    folder.add("plain");
    Loader loader({folder.path()});
    CHECK(loader.registry.rows().size() == 3);
    CHECK_NOTHROW(loader.registry.factory(Kind::model, "plain"));
  }

  TEST_CASE("a stripped plugin keeps its manifest") {
    PluginFolder folder;
    const auto file = folder.add("plain");
    if (std::system(("strip " + file.string() + " 2>/dev/null").c_str()) != 0) {
      MESSAGE("skipped: no strip here");
      return;
    }
    CHECK(fs::file_size(file) < fs::file_size(PluginFolder::built("plain")));
    Loader loader({folder.path()});
    CHECK_NOTHROW(loader.registry.factory(Kind::model, "plain"));
  }
}
