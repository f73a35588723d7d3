// What is known from the manifest before any code runs: P201 to P205.
#include "plugins/loader.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace convoy;
using namespace convoy::testing;

namespace {

/// The refusal of a fixture, which must come from the file alone: nothing may have been loaded.
Error unloaded_refusal(const std::string& fixture) {
  const Error e = refusal_of(fixture);
  CHECK(e.exit_code() == 4);
  return e;
}

}  // namespace

TEST_SUITE("versions") {
  TEST_CASE("P201: a plugin of a later ABI is refused, with both numbers and both ways out") {
    const Error e = unloaded_refusal("newer_epoch");
    CHECK(e.number() == "P201");
    CHECK(std::string(e.what()) == "plugin 'newer_epoch' was built for plugin ABI 2; this runner speaks ABI 1");
    CHECK(note(e, "cause") == "the plugin is newer than the runner");
    CHECK(note(e, "fix") == "a runner with ABI 2, or a build of 'newer_epoch' for ABI 1");
  }

  TEST_CASE("P202: a plugin of an earlier ABI is refused, and is to be rebuilt") {
    const Error e = unloaded_refusal("older_epoch");
    CHECK(e.number() == "P202");
    CHECK(std::string(e.what()) == "plugin 'older_epoch' was built for plugin ABI 0; this runner speaks ABI 1");
    CHECK(note(e, "cause") == "the plugin is older than the runner");
    CHECK(note(e, "fix") == "rebuild it with find_package(Convoy 1)");
  }

  TEST_CASE("P203: a plugin that needs a later host is refused, with what this one offers") {
    const Error e = unloaded_refusal("newer_minor");
    CHECK(e.number() == "P203");
    CHECK(std::string(e.what()) == "plugin 'newer_minor' needs host interface 1.7; this runner offers 1.0");
    CHECK(note(e, "fix") == "update the runner; or, for its author, build with CONVOY_TARGET_MINOR=0");
  }

  TEST_CASE("P204: a CPU feature that this machine lacks is named") {
    const Error e = unloaded_refusal("lacks_cpu_feature");
    CHECK(e.number() == "P204");
    // It also asks for sse2 and sse4.1, which a compiler spells otherwise than the kernel.
    CHECK(std::string(e.what()) == "'lacks_cpu_feature' needs CPU feature avx1024, which this machine lacks");
  }

  TEST_CASE("P205: a plugin of another sanitizer than the runner's is refused, and both are named") {
    const Error e = unloaded_refusal("other_sanitizer");
    CHECK(e.number() == "P205");
#if defined(__SANITIZE_ADDRESS__)
    CHECK(std::string(e.what()) == "'other_sanitizer' was built without a sanitizer and this runner with AddressSanitizer");
#elif defined(__SANITIZE_THREAD__)
    CHECK(std::string(e.what()) == "'other_sanitizer' was built without a sanitizer and this runner with ThreadSanitizer");
#else
    CHECK(std::string(e.what()) == "'other_sanitizer' was built with AddressSanitizer and this runner was not");
    CHECK(note(e, "fix") == "the asan runner, or a plain build");
#endif
  }

  TEST_CASE("the numbers of a manifest are those that its author compiled with") {
    PluginFolder folder;
    folder.add("newer_minor");
    const auto c = plugin::examine(folder.path() / "newer_minor.convoy.so", folder.path());
    REQUIRE(c.manifest);
    CHECK(c.manifest->abi == CONVOY_ABI_EPOCH);
    CHECK(c.manifest->abi_min_minor == 7);
    CHECK(c.manifest->opset == CONVOY_OPSET);
    CHECK(c.manifest->vendor == "Fixture works");
    CHECK(c.manifest->version == "1.2.3");
  }
}
