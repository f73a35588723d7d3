// What goes wrong between the file and its factories: P104, P206, P207, P301 to P306.
#include "plugins/loader.hpp"

#include <doctest/doctest.h>

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

using namespace convoy;
using namespace convoy::testing;

namespace {

bool begins(const Error& e, const std::string& words) { return std::string(e.what()).find(words) == 0; }

}  // namespace

TEST_SUITE("libraries") {
  TEST_CASE("P206: a needed library that is nowhere is named before anything is loaded") {
    PluginFolder folder;
    const auto c = plugin::examine(folder.add("lacks_library"), folder.path());
    REQUIRE(c.refused);
    CHECK(c.refused->number() == "P206");
    CHECK(c.refused->exit_code() == 4);
    CHECK(std::string(c.refused->what()) == "'lacks_library' needs libconvoy_fixture_missing.so.7, which the system loader cannot find");
    CHECK(note(*c.refused, "fix") == "install the package that brings it, or load its module");
  }

  TEST_CASE("a needed library beside the plugin is found") {
    PluginFolder folder;
    folder.add("lacks_library");
    folder.add_file(PluginFolder::built("plain").parent_path().parent_path() / "unreachable" / "libconvoy_fixture_missing.so.7",
                    "libconvoy_fixture_missing.so.7");
    Loader loader({folder.path()});
    CHECK_NOTHROW(loader.registry.factory(Kind::model, "lacks_library"));
  }

  TEST_CASE("P207: two plugins that bring two OpenMP runtimes are warned about, once both are used") {
    PluginFolder folder;
    for (const std::string name : {"openmp_gnu", "openmp_intel"}) folder.add(name);
    folder.add_file(PluginFolder::built("openmp_gnu").parent_path() / "libgomp.so.1", "libgomp.so.1");
    folder.add_file(PluginFolder::built("openmp_intel").parent_path() / "libiomp5.so", "libiomp5.so");
    Loader loader({folder.path()});
    loader.registry.factory(Kind::model, "openmp_gnu");
    CHECK(loader.log.text == "");
    loader.registry.factory(Kind::model, "openmp_intel");
    CHECK(loader.log.text == "warning[P207]: 'openmp_intel' needs libiomp5.so and 'openmp_gnu' libgomp.so.1: two OpenMP runtimes in "
                             "one process are known to crash or hang\n");
  }

  TEST_CASE("P207: an OpenMP runtime that comes by way of another library counts as well") {
    PluginFolder folder;
    for (const std::string name : {"openmp_gnu", "openmp_indirect"}) folder.add(name);
    const auto built = PluginFolder::built("plain").parent_path().parent_path();
    folder.add_file(built / "openmp_gnu" / "libgomp.so.1", "libgomp.so.1");
    folder.add_file(built / "openmp_intel" / "libiomp5.so", "libiomp5.so");
    folder.add_file(built / "through" / "libconvoy_fixture_through.so.1", "libconvoy_fixture_through.so.1");
    Loader loader({folder.path()});
    loader.registry.factory(Kind::model, "openmp_indirect");
    loader.registry.factory(Kind::model, "openmp_gnu");
    CHECK(loader.log.text.find("warning[P207]: 'openmp_gnu' needs libgomp.so.1 and 'openmp_indirect' libiomp5.so: ") == 0);
  }

  TEST_CASE("a library that the program has mapped from elsewhere serves a plugin that needs it") {
    PluginFolder folder;
    const std::string plugin = folder.add("lacks_library").string();
    const std::string library = (PluginFolder::built("plain").parent_path().parent_path() / "unreachable" / "libconvoy_fixture_missing.so.7").string();
    // In a child: what is mapped stays, and other tests count on its absence.
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      if (dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL) == nullptr) _exit(2);
      Loader loader({folder.path()});
      _exit(thrown([&] { loader.registry.factory(Kind::model, "lacks_library"); }).kind() == ErrorKind::bug ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }

  TEST_CASE("P104: a file that was replaced after it was checked is not loaded") {
    PluginFolder folder, marks;
    folder.add("plain");
    Loader loader({folder.path()});
    folder.add("marks_loading", "other.so");
    std::filesystem::rename(folder.path() / "other.so", folder.path() / "plain.convoy.so");
    setenv("CONVOY_TEST_MARK", (marks.path() / "mark").c_str(), 1);
    const Error e = thrown([&] { loader.registry.factory(Kind::model, "plain"); });
    unsetenv("CONVOY_TEST_MARK");
    CHECK(e.number() == "P104");
    CHECK(e.exit_code() == 4);
    CHECK(std::string(e.what()) == (folder.path() / "plain.convoy.so").string() + " changed between being checked and being loaded");
    CHECK_FALSE(std::filesystem::exists(marks.path() / "mark"));
  }

  TEST_CASE("every refusal says which file and version it is about") {
    for (const std::string fixture : {"newer_epoch", "undefined_symbol", "no_entry", "failing_entry", "empty_entry"}) {
      PluginFolder folder;
      const std::string file = folder.add(fixture).string();
      Loader loader({folder.path()});
      CHECK(note(thrown([&] { loader.registry.factory(Kind::model, fixture); }), "file") == file + " (" + fixture + " 1.2.3)");
    }
  }

  TEST_CASE("a library that a plugin wants opened for all is opened from its real place, and said") {
    PluginFolder folder;
    folder.add("global_libs");
    const std::string name = "libconvoy_fixture_global.so.1";
    {
      Loader loader({folder.path()});
      const Error e = thrown([&] { loader.registry.factory(Kind::model, "global_libs"); });
      CHECK(e.number() == "P206");
      CHECK(std::string(e.what()) == "'global_libs' needs " + name + ", which the system loader cannot find");
    }
    const std::string library = folder.add_file(PluginFolder::built("plain").parent_path().parent_path() / "global" / name, name).string();
    Loader loader({folder.path()});
    CHECK(dlsym(RTLD_DEFAULT, "fixture_stub") == nullptr);
    loader.registry.factory(Kind::model, "global_libs");
    CHECK(dlsym(RTLD_DEFAULT, "fixture_stub") != nullptr);
    CHECK(loader.log.text == "opening " + library + " for all, as 'global_libs' asks\n");
  }

  TEST_CASE("the shutdown functions of plugins are called once each, the last loaded first") {
    PluginFolder folder, marks;
    for (const std::string name : {"shuts_down_first", "shuts_down_second", "plain"}) folder.add(name);
    const std::string mark = (marks.path() / "mark").string();
    setenv("CONVOY_TEST_MARK", mark.c_str(), 1);
    Loader loader({folder.path()});
    for (const std::string name : {"shuts_down_first", "plain", "shuts_down_second"}) loader.registry.factory(Kind::model, name);
    loader.registry.shutdown();
    loader.registry.shutdown();
    unsetenv("CONVOY_TEST_MARK");
    CHECK(bytes_of(mark) == "shuts_down_second\nshuts_down_first\n");
  }

  TEST_CASE("P301: a symbol that no library has is named, whatever the folder is called") {
    PluginFolder folder;
    std::filesystem::create_directory(folder.path() / "a [b] (c) d");
    std::filesystem::permissions(folder.path() / "a [b] (c) d", std::filesystem::perms(0700));
    folder.add("undefined_symbol", "a [b] (c) d/undefined_symbol.convoy.so");
    Loader loader({folder.path() / "a [b] (c) d"});
    CHECK(std::string(thrown([&] { loader.registry.factory(Kind::model, "undefined_symbol"); }).what()) ==
          "'undefined_symbol' could not be loaded: undefined symbol fixture_kernel_v2");
  }

  TEST_CASE("P301: a symbol that no library has is named") {
    const Error e = refusal_of("undefined_symbol");
    CHECK(e.number() == "P301");
    CHECK(e.exit_code() == 4);
    CHECK(std::string(e.what()) == "'undefined_symbol' could not be loaded: undefined symbol fixture_kernel_v2");
    CHECK(note(e, "fix") == "the library is incomplete; tell its author to link with -z defs");
  }

  TEST_CASE("P302: a plugin built for a later libstdc++ says which version it needs and which there is") {
    const Error e = refusal_of("newer_libstdcxx");
    CHECK(e.number() == "P302");
    CHECK(e.exit_code() == 4);
    CHECK(begins(e, "'newer_libstdcxx' needs GLIBCXX_9.9.9; this system's libstdc++.so.6 stops at 3.4."));
    CHECK(note(e, "fix") == "a build made on an older distribution, or a newer libstdc++.so.6");
  }

  TEST_CASE("P303: a library with a manifest and no entry point is told how to get one") {
    const Error e = refusal_of("no_entry");
    CHECK(e.number() == "P303");
    CHECK(e.exit_code() == 4);
    CHECK(std::string(e.what()) == "'no_entry' has a manifest but no symbol convoy_plugin_entry_1");
    CHECK(note(e, "fix") == "end one source file with CONVOY_PLUGIN(...)");
  }

  TEST_CASE("P304: an entry point that fails is quoted") {
    const Error e = refusal_of("failing_entry");
    CHECK(e.number() == "P304");
    CHECK(e.exit_code() == 4);
    CHECK(begins(e, "'failing_entry' failed in its entry point: '"));
    CHECK(std::string(e.what()).find("no licence file'") != std::string::npos);
    CHECK(note(e, "cause") == "the plugin's own words; nothing was created");
  }

  TEST_CASE("P304: an entry point that throws over the border is quoted too") {
    const Error e = refusal_of("throwing_entry");
    CHECK(e.number() == "P304");
    CHECK(std::string(e.what()) == "'throwing_entry' failed in its entry point: 'no licence file'");
  }

  TEST_CASE("P304: an entry point that throws what is no exception ends nothing") {
    const Error e = refusal_of("throwing_int");
    CHECK(e.number() == "P304");
    CHECK(std::string(e.what()) == "'throwing_int' failed in its entry point: 'an exception of an unknown type'");
  }

  TEST_CASE("P305: a plugin that needs more static TLS than is left is told the setting that helps") {
    const Error e = refusal_of("static_tls");
    CHECK(e.number() == "P305");
    CHECK(e.exit_code() == 4);
    CHECK(std::string(e.what()) == "'static_tls' needs static TLS and none is left (static_tls.convoy.so)");
    CHECK(note(e, "fix").find("GLIBC_TUNABLES=glibc.rtld.optional_static_tls=") == 0);
  }

  TEST_CASE("P306: a manifest that promises something else is quoted against the entry point") {
    PluginFolder folder;
    folder.add("liar");
    Loader loader({folder.path()});
    const Error e = thrown([&] { loader.registry.factory(Kind::device, "liar"); });
    CHECK(e.number() == "P306");
    CHECK(e.exit_code() == 4);
    CHECK(std::string(e.what()) == "'liar' declares device:liar in its manifest but its entry point offered model:liar");
    CHECK(note(e, "cause") == "its author's error; nothing was created");
  }

  TEST_CASE("P306: an entry point that says ok and offers nothing, or no object, is not believed") {
    CHECK(std::string(refusal_of("empty_entry").what()) == "'empty_entry' declares model:empty_entry in its manifest but its entry point offered nothing");
    CHECK(std::string(refusal_of("null_factory").what()) == "'null_factory' declares model:null_factory in its manifest but its entry point offered a null factory");
  }

  TEST_CASE("a plugin that failed to load fails in the same way when it is asked for again") {
    PluginFolder folder;
    folder.add("no_entry");
    Loader loader({folder.path()});
    for (int time = 0; time < 3; ++time)
      CHECK(thrown([&] { loader.registry.factory(Kind::model, "no_entry"); }).number() == "P303");
    CHECK(loader.registry.used().empty());
  }

  TEST_CASE("a plugin is loaded once, and its entry point called once, however often it is used") {
    PluginFolder folder;
    folder.add("two_models");
    Loader loader({folder.path()});
    IFactory& first = loader.registry.factory(Kind::model, "first");
    CHECK(&loader.registry.factory(Kind::model, "first") == &first);
    CHECK(&loader.registry.factory(Kind::model, "second") != &first);
    CHECK(loader.registry.used().size() == 1);
    CHECK(loader.registry.used()[0].sha256.size() == 64);
  }
}
