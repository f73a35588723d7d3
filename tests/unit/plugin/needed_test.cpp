// Where needed libraries are looked for before anything is loaded, against what the system's loader itself says.
#include "plugin/needed.hpp"

#include "plugins/plugin_folder.hpp"

#include <doctest/doctest.h>

#include <link.h>

#include <filesystem>
#include <string>

using convoy::plugin::ElfFacts;
using convoy::plugin::openmp_runtime;
using convoy::plugin::resolve_needed;
using convoy::testing::PluginFolder;
namespace fs = std::filesystem;

namespace {

ElfFacts with_run_path(const std::string& run_path) {
  ElfFacts out;
  out.run_path = run_path;
  return out;
}

}  // namespace

TEST_SUITE("needed libraries") {
  TEST_CASE("a library that this process has mapped is found where it is mapped") {
    std::string mapped;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* out) {
          if (std::string(info->dlpi_name).find("/libc.so") != std::string::npos) *static_cast<std::string*>(out) = info->dlpi_name;
          return 0;
        },
        &mapped);
    if (mapped.empty()) {
      MESSAGE("skipped: another C library");
      return;
    }
    CHECK(resolve_needed(fs::path(mapped).filename().string(), {}, "/nowhere/p.convoy.so") == mapped);
  }

  TEST_CASE("a system library that is not mapped is found by the loader's cache or folders") {
    // Every glibc system has it; this program does not need it.
    const std::string found = resolve_needed("libBrokenLocale.so.1", {}, "/nowhere/p.convoy.so");
    if (found.empty()) {
      MESSAGE("skipped: no libBrokenLocale here");
      return;
    }
    CHECK(fs::path(found).filename() == "libBrokenLocale.so.1");
    CHECK(fs::exists(found));
  }

  TEST_CASE("$ORIGIN in a run path, in either spelling, is the plugin's folder") {
    PluginFolder folder;
    fs::create_directory(folder.path() / "lib");
    folder.write("lib/libconvoy_private.so.1", "");
    const fs::path plugin = folder.path() / "p.convoy.so";
    for (const std::string run_path : {"$ORIGIN/lib", "${ORIGIN}/lib", "/nowhere:$ORIGIN/lib", "$ORIGIN:$ORIGIN/lib"}) {
      CAPTURE(run_path);
      CHECK(resolve_needed("libconvoy_private.so.1", with_run_path(run_path), plugin) == (folder.path() / "lib" / "libconvoy_private.so.1").string());
    }
    for (const std::string run_path : {"", "$ORIGIN", ":", "lib"}) {
      CAPTURE(run_path);
      CHECK(resolve_needed("libconvoy_private.so.1", with_run_path(run_path), plugin) == "");
    }
  }

  TEST_CASE("a library that is named by path is looked for there and nowhere else") {
    PluginFolder folder;
    const std::string path = folder.write("libconvoy_private.so.1", "").string();
    CHECK(resolve_needed(path, {}, "/nowhere/p.convoy.so") == path);
    CHECK(resolve_needed("$ORIGIN/libconvoy_private.so.1", {}, folder.path() / "p.convoy.so") == path);
    CHECK(resolve_needed(fs::relative(path).string(), {}, "/nowhere/p.convoy.so") == "");  // would count from the working directory
    CHECK(resolve_needed(path + "x", with_run_path(folder.path().string()), "/nowhere/p.convoy.so") == "");
  }

  TEST_CASE("an OpenMP runtime is found behind other libraries, and libraries that cannot be read are passed over") {
    PluginFolder folder;
    folder.write("libconvoy_text.so", "no library");
    ElfFacts facts = with_run_path("$ORIGIN");
    facts.needed = {"libc.so.6", "libconvoy_text.so", "libconvoy_absent.so"};
    CHECK(openmp_runtime(facts, folder.path() / "p.convoy.so") == "");
    for (const std::string runtime : {"libgomp.so.1", "libgomp-a34b3233.so.1", "libiomp5.so", "libomp.so.5"}) {
      facts.needed.back() = runtime;
      CHECK(openmp_runtime(facts, folder.path() / "p.convoy.so") == runtime);
    }
  }
}
