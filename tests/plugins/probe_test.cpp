// Probing in a child process: whatever a plugin does there, the parent goes on and says what happened.
#include "plugins/plugin_folder.hpp"
#include "plugins/program.hpp"
#include "runner/probe_child.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <string>

using namespace convoy::testing;
using convoy::runner::probe_in_child;
using convoy::runner::ProbeOutcome;

namespace {

const std::filesystem::path kRunner = std::filesystem::path(CONVOY_BUILD_DIR) / "bin" / "runner";
constexpr std::chrono::milliseconds kHangLimit{700};  // long enough for a slow machine to start a process

ProbeOutcome probed(const std::string& fixture, std::chrono::milliseconds limit = convoy::runner::kProbeLimit) {
  PluginFolder folder;
  return probe_in_child(kRunner, folder.add(fixture), limit);
}

}  // namespace

TEST_SUITE("probe") {
  TEST_CASE("a good plugin answers with what it provides") {
    const ProbeOutcome out = probed("plain");
    REQUIRE(out.answered);
    CHECK(has(out.json, R"("provides":[{"kind":"model","name":"plain","score":1)"));
    CHECK(out.failure == "");
  }

  TEST_CASE("a plugin that crashes in its static initialisers is a row, and says where") {
    const ProbeOutcome out = probed("crashing_initialiser");
    CHECK_FALSE(out.answered);
    CHECK(out.failure == "crashed: SIGSEGV in static initialisers");
  }

  TEST_CASE("a plugin that crashes in its probe says so") { CHECK(probed("crashing_probe").failure == "crashed: SIGSEGV in its probe"); }

  TEST_CASE("a plugin that ends the process says so, with the code") {
    CHECK(probed("exiting_entry").failure == "ended the process with exit code 3 in its entry point");
  }

  TEST_CASE("a plugin that hangs is ended at the limit") {
    const auto start = std::chrono::steady_clock::now();
    const ProbeOutcome out = probed("hanging_probe", kHangLimit);
    CHECK_FALSE(out.answered);
    CHECK(out.failure == "no answer within 0.7 s, last seen in its probe");
    CHECK(std::chrono::steady_clock::now() - start < 10 * kHangLimit);
  }

  TEST_CASE("a plugin that closes its output and stays is ended at the limit as well") {
    const auto start = std::chrono::steady_clock::now();
    const ProbeOutcome out = probed("staying_probe", kHangLimit);
    CHECK_FALSE(out.answered);
    CHECK(out.failure == "no answer within 0.7 s, last seen in its probe");
    CHECK(std::chrono::steady_clock::now() - start < 10 * kHangLimit);
  }

  TEST_CASE("a plugin that writes to standard output does not disturb its answer") {
    const ProbeOutcome out = probed("noisy");
    REQUIRE(out.answered);
    CHECK(out.json.rfind("{\"provides\"", 0) == 0);
  }

  TEST_CASE("a refused file answers with the message") {
    const ProbeOutcome out = probed("undefined_symbol");
    REQUIRE(out.answered);
    CHECK(has(out.json, "refused P301: 'undefined_symbol' could not be loaded: undefined symbol fixture_kernel_v2"));
  }

  TEST_CASE("a program that cannot be started is said to have said nothing") {
    PluginFolder folder;
    CHECK(probe_in_child("/nowhere/runner", folder.add("plain")).failure == "ended the process with exit code 127 in its first steps");
  }

  TEST_CASE("runner plugins --probe lists every way to fail beside the plugins that work") {
    PluginFolder folder;
    for (const char* name : {"plain", "crashing_initialiser", "exiting_entry", "not_usable", "failing_probe", "endless_reason", "wrong_create"})
      folder.add(name);
    const Outcome out = Program(kRunner).run({"plugins", "--probe", "--plugin-dir", folder.path().string()});
    CHECK(out.exit_code == 0);
    CHECK(has(out.text, "plain              1.2.3    1.0  ready "));
    CHECK(has(out.text, "crashed: SIGSEGV in static initialisers"));
    CHECK(has(out.text, "ended the process with exit code 3"));
    CHECK(has(out.text, "not usable: driver 525 is older than it needs"));
    CHECK(has(out.text, "the driver did not answer"));
    CHECK(has(out.text, "gave no message (code 11, internal)"));
  }
}
