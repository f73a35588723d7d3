// Where plugins are looked for, and which files and folders are refused there.
#include "plugin/search_path.hpp"

#include "error.hpp"
#include "plugins/plugin_folder.hpp"

#include <doctest/doctest.h>

#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

namespace fs = std::filesystem;
using convoy::Error;
using convoy::plugin::make_search_path;
using convoy::plugin::refuse_if_writable_by_others;
using convoy::testing::PluginFolder;

namespace {

const fs::path kProgram = "/proc/self/exe";  // a program that exists; its folder does not matter

/// What was said, or "" where the file is fine.
std::string refusal(const fs::path& file) {
  try {
    refuse_if_writable_by_others(file);
  } catch (const Error& e) {
    CHECK(e.number() == "P104");
    CHECK(e.kind() == convoy::ErrorKind::plugin);
    REQUIRE(e.notes().size() == 1);
    CHECK(e.notes()[0].first == "fix");
    return e.what();
  }
  return "";
}

/// file in inner in outer in a folder of the test's own.
struct Nest {
  PluginFolder top;
  fs::path outer = top.path() / "outer", inner = outer / "inner", file = inner / "p.convoy.so";

  Nest() {
    fs::create_directories(inner);
    fs::permissions(outer, fs::perms(0755));
    fs::permissions(inner, fs::perms(0755));
    top.write("outer/inner/p.convoy.so", "x");
  }
};

}  // namespace

TEST_SUITE("search path") {
  TEST_CASE("folders come in the order asked, variable, beside the program") {
    const auto p = make_search_path({"/a", "/b"}, "/c:/d", kProgram);
    REQUIRE(p.folders.size() == 5);
    const std::vector<fs::path> first{p.folders.begin(), p.folders.begin() + 4};
    CHECK(first == std::vector<fs::path>{"/a", "/b", "/c", "/d"});
    const fs::path beside = fs::canonical(kProgram).parent_path().parent_path() / "lib" / "convoy" / "plugins";
    CHECK(p.folders[4] == beside);
    CHECK(p.warnings.empty());
  }

  TEST_CASE("an asked-for folder may be relative: the user typed it") {
    const auto p = make_search_path({"sub/../mine"}, nullptr, kProgram);
    CHECK(p.folders[0] == fs::current_path() / "mine");
    CHECK(p.warnings.empty());
  }

  TEST_CASE("an empty asked-for folder is an error and not the working directory") {
    try {
      make_search_path({""}, nullptr, kProgram);
      FAIL("was accepted");
    } catch (const Error& e) {
      CHECK(e.kind() == convoy::ErrorKind::usage);
      CHECK(std::string(e.what()) == "--plugin-dir is empty");
    }
  }

  TEST_CASE("a relative entry of the variable is ignored with warning P103") {
    const auto p = make_search_path({}, "plugins:/c", kProgram);
    REQUIRE(p.warnings.size() == 1);
    CHECK(p.warnings[0] == "warning[P103]: CONVOY_PLUGIN_PATH entry 'plugins' is not absolute and was ignored");
    CHECK(p.folders[0] == "/c");
  }

  TEST_CASE("an empty entry anywhere in the variable is ignored with warning P103") {
    for (const char* value : {":/c", "/c:", "/c::/d"}) {
      CAPTURE(value);
      const auto p = make_search_path({}, value, kProgram);
      REQUIRE(p.warnings.size() == 1);
      CHECK(p.warnings[0].find("P103]: CONVOY_PLUGIN_PATH entry '' is not absolute") != std::string::npos);
      for (const auto& folder : p.folders) CHECK(folder != fs::current_path());
    }
  }

  TEST_CASE("an unset or empty variable adds nothing and warns of nothing") {
    for (const char* value : {static_cast<const char*>(nullptr), ""}) {
      const auto p = make_search_path({}, value, kProgram);
      CHECK(p.folders.size() == 1);
      CHECK(p.warnings.empty());
    }
  }
}

TEST_SUITE("writable by others") {
  TEST_CASE("a file in folders that only their owner may change is fine") {
    Nest nest;
    CHECK(refusal(nest.file) == "");
  }

  TEST_CASE("the file's mode decides: writable by all is refused, other bits do not matter") {
    Nest nest;
    struct Row {
      unsigned mode;
      bool fine;
    };
    for (const Row row : {Row{0400, true}, Row{0600, true}, Row{0644, true}, Row{0755, true}, Row{0646, false}, Row{0666, false}, Row{0777, false}}) {
      CAPTURE(row.mode);
      fs::permissions(nest.file, fs::perms(row.mode));
      const std::string said = refusal(nest.file);
      CHECK(said.empty() == row.fine);
      if (!row.fine) CHECK(said.find("refusing to load " + nest.file.string() + ": it is writable by other users (mode 0") == 0);
    }
  }

  TEST_CASE("the folder that holds the file is refused when others may write to it, sticky bit or not") {
    Nest nest;
    for (unsigned mode : {0757u, 0777u, 01777u}) {
      CAPTURE(mode);
      fs::permissions(nest.inner, fs::perms(mode));
      CHECK(refusal(nest.file).find(nest.inner.string() + " is writable by other users") != std::string::npos);
    }
  }

  TEST_CASE("a folder above is refused when others may write to it, unless its sticky bit is set") {
    Nest nest;
    fs::permissions(nest.outer, fs::perms(0777));
    CHECK(refusal(nest.file).find(nest.outer.string() + " is writable by other users (mode 0777)") != std::string::npos);
    fs::permissions(nest.outer, fs::perms(01777));
    CHECK(refusal(nest.file) == "");
  }

  TEST_CASE("a group counts as other users, unless it is the owner's own, as with a umask of 0002") {
    const passwd* me = getpwuid(geteuid());
    const group* mine = getgrgid(getegid());
    if (me == nullptr || mine == nullptr) {
      MESSAGE("skipped: the user or the group has no name here");
      return;
    }
    const bool own = std::string(me->pw_name) == mine->gr_name && mine->gr_mem[0] == nullptr;
    Nest nest;
    fs::permissions(nest.file, fs::perms(0664));
    fs::permissions(nest.inner, fs::perms(0775));
    CHECK(refusal(nest.file).empty() == own);
    if (geteuid() != 0) {
      MESSAGE("skipped: only root can give files to any group");
      return;
    }
    constexpr gid_t kSomeGroup = 54321;
    REQUIRE(chown(nest.file.c_str(), 0, kSomeGroup) == 0);
    CHECK(refusal(nest.file).find("it is writable by other users (mode 0664)") != std::string::npos);
    fs::permissions(nest.file, fs::perms(0644));
    CHECK(refusal(nest.file) == "");
  }

  TEST_CASE("an access list that lets another user write is seen, though the mode shows only the group's bits") {
    Nest nest;
    // Version 2, then {tag, permissions, id}: the user, user 54321, the group, the mask, others. As linux/posix_acl_xattr.h.
    struct Entry {
      uint16_t tag, permissions;
      uint32_t id;
    };
    struct {
      uint32_t version = 2;
      Entry entries[5] = {{1, 6, ~0u}, {2, 6, 54321}, {4, 4, ~0u}, {16, 6, ~0u}, {32, 4, ~0u}};
    } list;
    if (setxattr(nest.file.c_str(), "system.posix_acl_access", &list, sizeof list, 0) != 0) {
      MESSAGE("skipped: no access lists on this file system");
      return;
    }
    CHECK(refusal(nest.file).find("it is writable by other users (mode 0664)") != std::string::npos);
    list.entries[1].permissions = list.entries[3].permissions = 4;
    REQUIRE(setxattr(nest.file.c_str(), "system.posix_acl_access", &list, sizeof list, 0) == 0);
    CHECK(refusal(nest.file) == "");
  }

  TEST_CASE("what belongs to another user is refused, file and folder") {
    if (geteuid() != 0) {
      MESSAGE("skipped: only root can give files away");
      return;
    }
    constexpr uid_t kSomebody = 54321;
    Nest nest;
    REQUIRE(chown(nest.file.c_str(), kSomebody, 0) == 0);
    CHECK(refusal(nest.file).find("it belongs to another user (uid 54321)") != std::string::npos);
    REQUIRE(chown(nest.file.c_str(), 0, 0) == 0);
    REQUIRE(chown(nest.outer.c_str(), kSomebody, 0) == 0);
    CHECK(refusal(nest.file).find(nest.outer.string() + " belongs to another user (uid 54321)") != std::string::npos);
  }

  TEST_CASE("a file that is not there is refused and not taken for a good one") {
    Nest nest;
    CHECK(refusal(nest.inner / "absent.convoy.so").find("it cannot be examined") != std::string::npos);
  }
}
