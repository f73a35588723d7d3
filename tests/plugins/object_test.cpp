// What goes wrong once a plugin is loaded: P401 to P403, and objects that are none.
#include "experiment/schema.hpp"
#include "plugins/loader.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace convoy;
using namespace convoy::testing;

namespace {

/// What creating the model of wrong_create throws.
Error created(const std::string& how) {
  PluginFolder folder;
  folder.add("wrong_create");
  Loader loader({folder.path()});
  return thrown([&] { loader.registry.create<IModel>(Kind::model, "wrong_create", {{"how", how}}); });
}

Error probed(const std::string& fixture) {
  PluginFolder folder;
  folder.add(fixture);
  Loader loader({folder.path()});
  return thrown([&] { loader.registry.probe(Kind::model, fixture); });
}

/// What checking an option against the schema of the fixture `plain` throws.
Error checked(const std::string& key, const experiment::ConfigValue::Data& value) {
  PluginFolder folder;
  folder.add("plain");
  Loader loader({folder.path()});
  const auto rules = experiment::parse_schema(loader.registry.options_schema(Kind::model, "plain"), "plain");
  const Position at{"exp.toml", 21, 1};
  experiment::ConfigTable table;
  table.set(key, at, {value, at});
  return thrown([&] { experiment::check_options(rules, table, "model", {"use"}); });
}

}  // namespace

TEST_SUITE("objects of plugins") {
  TEST_CASE("P401: what a probe says against this machine is passed on") {
    const Error e = probed("not_usable");
    CHECK(e.number() == "P401");
    CHECK(e.exit_code() == 4);
    CHECK(std::string(e.what()) == "model 'not_usable' is not usable here: driver 525 is older than it needs");
  }

  TEST_CASE("P401: a reason without an end is cut at its field") {
    const Error e = probed("endless_reason");
    CHECK(e.number() == "P401");
    CHECK(std::string(e.what()) == "model 'endless_reason' is not usable here: " + std::string(sizeof(ProbeResult::reason) - 1, 'x'));
  }

  TEST_CASE("a probe that fails is quoted") {
    CHECK(std::string(probed("failing_probe").what()) == "'failing_probe' could not probe this machine: probe: the driver did not answer");
  }

  TEST_CASE("P402: a plugin that fails without a message is told on, with the code") {
    const Error e = created("silent");
    CHECK(e.number() == "P402");
    CHECK(e.exit_code() == 4);
    CHECK(std::string(e.what()) == "'wrong_create' failed to create the model and gave no message (code 11, internal)");
    CHECK(note(e, "fix").find("report it to ") == 0);
  }

  TEST_CASE("a plugin that fails with a message is quoted, and its code decides the exit code") {
    const Error e = created("spoken");
    CHECK(e.kind() == ErrorKind::data);
    CHECK(std::string(e.what()) == "'wrong_create' could not create the model: weights.bin is cut short");
  }

  TEST_CASE("a plugin that says ok and creates nothing is caught") {
    CHECK(std::string(created("null").what()) == "model 'wrong_create' created nothing and said ok");
  }

  TEST_CASE("an object without the interface of its kind is caught") {
    CHECK(std::string(created("stranger").what()) == "model 'wrong_create' offers no interface convoy.model.1");
  }

  TEST_CASE("P403: a misspelt option of a plugin is answered with the known ones and the nearest") {
    const Error e = checked("widht", int64_t{8});
    CHECK(e.number() == "P403");
    CHECK(e.exit_code() == 2);
    CHECK(std::string(e.what()) == "unknown option 'widht' in [model] (exp.toml:21:1)");
    CHECK(note(e, "known").find("width") != std::string::npos);
    CHECK(note(e, "fix") == "did you mean 'width'?");
  }

  TEST_CASE("an option outside what the plugin allows is refused before the plugin sees it") {
    CHECK(checked("width", int64_t{0}).exit_code() == 2);
    CHECK(checked("init", std::string("twos")).exit_code() == 2);
  }
}
