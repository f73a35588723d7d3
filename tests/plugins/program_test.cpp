// The program itself on fixtures: what it prints, its exit codes, and what it never loads.
#include "plugins/plugin_folder.hpp"
#include "plugins/program.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

using namespace convoy::testing;
namespace fs = std::filesystem;

namespace {

/// An experiment of one tiny epoch, in a folder of its own.
struct Experiment {
  explicit Experiment(const std::string& model, const std::string& options = {}, const std::string& data = "synthetic") {
    std::ofstream(folder.path() / "exp.toml") << "[run]\nname = \"x\"\nmode = \"train\"\nepochs = 1\n"
                                              << "[model]\nuse = \"" << model << "\"\nclasses = 3\nimage = 8\n" << options << "\n"
                                              << "[device]\nuse = \"reference\"\n[data]\nuse = \"" << data << "\"\nbatch = 3\n"
                                              << (data == "synthetic" ? "train = 6\neval = 3\n" : "")
                                              << "[optimizer]\nuse = \"sgd\"\nlr = 0.01\n";
  }
  PluginFolder folder;
  std::string file() const { return (folder.path() / "exp.toml").string(); }
  std::string out() const { return (folder.path() / "runs").string(); }
};

Outcome validate(const Experiment& e, const PluginFolder& plugins, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"validate", e.file(), "--plugin-dir", plugins.path().string()});
  return Program().run(more);
}

}  // namespace

TEST_SUITE("program and plugins") {
  TEST_CASE("runner plugins lists a plugin without running any of its code; validate runs it") {
    PluginFolder folder, marks;
    folder.add("marks_loading");
    const fs::path mark = marks.path() / "mark";
    const auto listed = Program().with("CONVOY_TEST_MARK", mark.string()).run({"plugins", "--plugin-dir", folder.path().string()});
    CHECK(listed.exit_code == 0);
    CHECK(has(listed.text, "marks_loading"));
    CHECK(has(listed.text, "ready (not loaded)"));
    CHECK_FALSE(fs::exists(mark));
    const auto json = Program().with("CONVOY_TEST_MARK", mark.string()).run({"plugins", "--json", "--plugin-dir", folder.path().string()});
    CHECK(has(json.text, "\"marks_loading\""));
    CHECK_FALSE(fs::exists(mark));
    // The control: the mark does appear where the plugin is used.
    const Experiment e("marks_loading");
    CHECK(Program().with("CONVOY_TEST_MARK", mark.string()).run({"validate", e.file(), "--plugin-dir", folder.path().string()}).exit_code == 0);
    CHECK(fs::exists(mark));
  }

  TEST_CASE("an experiment loads the plugins that it uses and no other") {
    PluginFolder folder, marks;
    folder.add("marks_loading");
    folder.add("plain");
    const Experiment e("plain");
    const auto out = Program().with("CONVOY_TEST_MARK", (marks.path() / "mark").string()).run({"validate", e.file(), "--plugin-dir", folder.path().string()});
    CHECK(out.exit_code == 0);
    CHECK_FALSE(fs::exists(marks.path() / "mark"));
  }

  TEST_CASE("the working directory and the experiment's folder are never searched") {
    const Experiment e("plain");
    fs::copy_file(PluginFolder::built("plain"), e.folder.path() / "plain.convoy.so");
    const auto out = Program().in(e.folder.path()).run({"validate", "exp.toml"});
    CHECK(out.exit_code == 2);
    CHECK(has(out.text, "error[P101]: no plugin provides model 'plain' (model.use, "));
    const auto list = Program().in(e.folder.path()).run({"plugins"});
    CHECK_FALSE(has(list.text, "plain"));
  }

  TEST_CASE("an empty or relative entry of CONVOY_PLUGIN_PATH does not mean the working directory: P103") {
    PluginFolder folder;
    folder.add("plain");
    for (const std::string value : {":", "", ".", "/nowhere::", "./"}) {
      CAPTURE(value);
      const auto list = Program().in(folder.path()).with("CONVOY_PLUGIN_PATH", value).run({"plugins"});
      CHECK(list.exit_code == 0);
      CHECK_FALSE(has(list.text, "plain.convoy.so"));
      CHECK(has(list.text, "warning[P103]: CONVOY_PLUGIN_PATH entry '") == !value.empty());
    }
  }

  TEST_CASE("LD_LIBRARY_PATH and PATH are never searched for plugins") {
    PluginFolder folder;
    folder.add("plain");
    const auto list = Program().with("LD_LIBRARY_PATH", folder.path().string()).with("PATH", folder.path().string()).run({"plugins"});
    CHECK(list.exit_code == 0);
    CHECK_FALSE(has(list.text, "plain.convoy.so"));
  }

  TEST_CASE("CONVOY_PLUGIN_PATH is searched, after --plugin-dir") {
    PluginFolder asked, variable;
    asked.add("plain");
    variable.add("plain");
    variable.add("two_models");
    const auto list = Program().with("CONVOY_PLUGIN_PATH", variable.path().string()).run({"plugins", "--plugin-dir", asked.path().string()});
    CHECK(has(list.text, "shadowed by " + (asked.path() / "plain.convoy.so").string()));
    CHECK(has(list.text, "ready (not loaded)             " + (variable.path() / "two_models.convoy.so").string()));
  }

  TEST_CASE("a --plugin-dir that does not exist, or is empty, is a wrong command line") {
    const auto absent = Program().run({"plugins", "--plugin-dir", "/nowhere/at/all"});
    CHECK(absent.exit_code == 2);
    CHECK(has(absent.text, "--plugin-dir /nowhere/at/all: there is no such folder"));
    CHECK(Program().run({"plugins", "--plugin-dir", ""}).exit_code == 2);
    PluginFolder folder;
    CHECK(Program().run({"plugins", "--plugin-dir", folder.write("file", "x").string()}).exit_code == 2);
  }

  TEST_CASE("P101: a misspelt model points at the line and offers the nearest") {
    PluginFolder folder;
    folder.add("plain");
    const Experiment e("plian");
    const auto out = validate(e, folder);
    CHECK(out.exit_code == 2);
    CHECK(has(out.text, "error[P101]: no plugin provides model 'plian' (model.use, " + e.file() + ":6:"));
    CHECK(has(out.text, "\n  fix    did you mean 'plain'?"));
  }

  TEST_CASE("P105: an experiment cannot bring its own code unless the user says so") {
    PluginFolder nothing;
    const Experiment e("./mine.convoy.so");
    fs::copy_file(PluginFolder::built("plain"), e.folder.path() / "mine.convoy.so");
    const auto refused = validate(e, nothing);
    CHECK(refused.exit_code == 2);
    CHECK(has(refused.text, "error[P105]: "));
    CHECK(has(refused.text, "asks to load './mine.convoy.so'"));
    CHECK(validate(e, nothing, {"--allow-experiment-plugins"}).exit_code == 0);
  }

  TEST_CASE("P403: a misspelt option of a third party's plugin is refused with its place") {
    PluginFolder folder;
    folder.add("plain");
    const Experiment e("plain", "widht = 8");
    const auto out = validate(e, folder);
    CHECK(out.exit_code == 2);
    CHECK(has(out.text, "error[P403]: unknown option 'widht' in [model] (" + e.file() + ":9:1)"));
    CHECK(has(out.text, "did you mean 'width'?"));
  }

  TEST_CASE("a plugin that is refused ends the program with exit code 4, and with the message") {
    PluginFolder folder;
    folder.add("newer_epoch");
    folder.add("failing_entry");
    const auto epoch = validate(Experiment("newer_epoch"), folder);
    CHECK(epoch.exit_code == 4);
    CHECK(has(epoch.text, "error[P201]: plugin 'newer_epoch' was built for plugin ABI 2"));
    const auto entry = validate(Experiment("failing_entry"), folder);
    CHECK(entry.exit_code == 4);
    CHECK(has(entry.text, "error[P304]: 'failing_entry' failed in its entry point"));
  }

  TEST_CASE("a refused file of an asked-for folder is named before another of the same name steps in") {
    PluginFolder folder;
    const auto broken = folder.path() / "synthetic.convoy.so";
    std::ofstream(broken) << "no library at all";
    const auto out = validate(Experiment("lenet"), folder, {"--set", "model.image=32"});
    CAPTURE(out.text);
    CHECK(out.exit_code == 0);
    CHECK(has(out.text, "warning[P"));
    CHECK(has(out.text, broken.string()));
    const Experiment e("lenet", "", "shapes");
    const auto run = Program().run({e.file(), "--out", e.out(), "--plugin-dir", folder.path().string(), "--set", "model.image=32", "--set", "model.classes=10", "--set", "data.train_limit=6", "--set", "data.eval_limit=3"});
    CAPTURE(run.text);
    CHECK(run.exit_code == 0);
    CHECK(has(run.text, broken.string()));
    for (const auto& entry : fs::directory_iterator(e.out())) {
      std::ifstream log(entry.path() / "log.txt");
      CHECK(has(std::string(std::istreambuf_iterator<char>(log), {}), broken.string()));
    }
  }

  TEST_CASE("runner plugins NAME shows manifest, needed libraries and options") {
    PluginFolder folder;
    folder.add("plain");
    const auto out = Program().run({"plugins", "plain", "--plugin-dir", folder.path().string()});
    CHECK(out.exit_code == 0);
    CHECK(has(out.text, "version    1.2.3"));
    CHECK(has(out.text, "toolchain  "));
    CHECK(has(out.text, "needs      libc.so.6 -> /"));
    CHECK(has(out.text, "width "));
    CHECK(has(out.text, "units of the hidden layer"));
    CHECK(has(out.text, "vendor     Fixture works"));
    CHECK(has(out.text, "provides   model:plain"));
    CHECK(has(out.text, "state      ready"));
    CHECK(Program().run({"plugins", "model:plain", "--plugin-dir", folder.path().string()}).text == out.text);
    const auto unknown = Program().run({"plugins", "plian", "--plugin-dir", folder.path().string()});
    CHECK(unknown.exit_code == 2);
    CHECK(has(unknown.text, "did you mean 'plain'?"));
  }

  TEST_CASE("runner plugins NAME survives a plugin that crashes, hangs up or is refused, and shows what is known of it") {
    PluginFolder folder;
    for (const char* name : {"crashing_initialiser", "exiting_entry", "newer_epoch", "wrong_schema"}) folder.add(name);
    const auto shown = [&](const std::string& name) { return Program().run({"plugins", name, "--plugin-dir", folder.path().string()}); };
    for (const std::string name : {"crashing_initialiser", "exiting_entry", "newer_epoch", "wrong_schema"}) {
      const Outcome out = shown(name);
      CHECK(out.exit_code == 0);
      CHECK(has(out.text, "version    1.2.3"));
      CHECK(has(out.text, "needs      libc.so.6 -> /"));
      CHECK_FALSE(has(out.text, "options"));
    }
    CHECK(has(shown("crashing_initialiser").text, "state      crashed: SIGSEGV in static initialisers"));
    CHECK(has(shown("exiting_entry").text, "state      ended the process with exit code 3 in its entry point"));
    CHECK(has(shown("newer_epoch").text, "state      refused P201: "));
    CHECK(has(shown("wrong_schema").text, "state      wrong: "));
  }

  TEST_CASE("a probed device says what it is: memory kinds, types and facets") {
    PluginFolder nothing;
    const auto out = Program().run({"plugins", "reference", "--json", "--plugin-dir", nothing.path().string()});
    CHECK(out.exit_code == 0);
    CHECK(has(out.text, "\"types\": ["));
    CHECK(has(out.text, "\"f32\""));
    CHECK(has(out.text, "\"facets\": ["));
    CHECK(has(out.text, "\"kernels\""));
    CHECK(has(Program().run({"plugins", "--probe", "--plugin-dir", nothing.path().string()}).text, "\n         reference:0  "));
  }

  TEST_CASE("runner plugins --check tells an author's build what is wrong with one file") {
    PluginFolder folder;
    const auto checked = [&](const std::string& fixture) { return Program().run({"plugins", "--check", folder.add(fixture).string()}); };
    const Outcome good = checked("two_models");
    CHECK(good.exit_code == 0);
    CHECK(good.text == "model 'first' 1.2.3: ok\nmodel 'second' 1.2.3: ok\n");
    const Outcome liar = checked("liar");
    CHECK(liar.exit_code == 4);
    CHECK(has(liar.text, "error[P306]: 'liar' declares device:liar"));
    const Outcome schema = checked("wrong_schema");
    CHECK(schema.exit_code == 4);
    CHECK(has(schema.text, "wrong_schema"));
    CHECK(has(schema.text, "width is a number"));
    CHECK(Program().run({"plugins", "--check", "/nowhere/x.convoy.so"}).exit_code == 4);
  }
}
