// Which plugin a name means: P101, P102, P105, P107, and folders that shadow each other.
#include "plugins/loader.hpp"

#include <doctest/doctest.h>

#include <unistd.h>

#include <filesystem>
#include <string>

using namespace convoy;
using namespace convoy::testing;

TEST_SUITE("choice of a plugin") {
  TEST_CASE("P101: a name that nobody provides is answered with the known ones and the nearest") {
    PluginFolder folder;
    folder.add("plain");
    folder.add("two_models");
    Loader loader({folder.path()});
    const Error e = thrown([&] { loader.registry.factory(Kind::model, "plian", {"exp.toml", 14, 7}); });
    CHECK(e.number() == "P101");
    CHECK(e.exit_code() == 2);
    CHECK(std::string(e.what()) == "no plugin provides model 'plian' (model.use, exp.toml:14:7)");
    CHECK(note(e, "known") == "first, plain, second");
    CHECK(note(e, "fix") == "did you mean 'plain'?");
  }

  TEST_CASE("P101: a name of another kind does not count, and datasets are chosen in [data]") {
    PluginFolder folder;
    folder.add("plain");
    Loader loader({folder.path()});
    const Error e = thrown([&] { loader.registry.factory(Kind::dataset, "plain"); });
    CHECK(e.number() == "P101");
    CHECK(std::string(e.what()) == "no plugin provides dataset 'plain' (data.use)");
    CHECK(note(e, "known") == "none");
    CHECK(note(e, "fix") == "");
  }

  TEST_CASE("P101: a file that is not believed is mentioned: it may be the one that was meant") {
    PluginFolder folder;
    std::filesystem::permissions(folder.add("plain"), std::filesystem::perms(0666));
    Loader loader({folder.path()});
    const Error e = thrown([&] { loader.registry.factory(Kind::model, "plain"); });
    CHECK(e.number() == "P101");
    CHECK(note(e, "known") == "none");
    CHECK(note(e, "looked") == "in " + folder.path().string());
    CHECK(note(e, "refused") == "P104: refusing to load " + (folder.path() / "plain.convoy.so").string() + ": it is writable by other users (mode 0666)");
    for (const std::string name : {"a", "b", "c", "d"}) folder.write(name + ".convoy.so", "text");
    const Error many = thrown([&] { Loader({folder.path()}).registry.factory(Kind::model, "plain"); });
    CHECK(many.notes().back() == ErrorNote{"refused", "2 more; runner plugins lists them"});
  }

  TEST_CASE("P102: two files of one folder that provide the same are both refused, by name") {
    PluginFolder folder;
    folder.add("plain", "a.convoy.so");
    folder.add("plain", "b.convoy.so");
    Loader loader({folder.path()});
    const Error e = thrown([&] { loader.registry.factory(Kind::model, "plain"); });
    CHECK(e.number() == "P102");
    CHECK(e.exit_code() == 2);
    CHECK(std::string(e.what()) == "two files in " + folder.path().string() + " provide model 'plain': a.convoy.so, b.convoy.so");
    CHECK(note(e, "fix") == "remove one");
  }

  TEST_CASE("the first folder that provides a name wins and shadows later ones") {
    PluginFolder first, second;
    first.add("plain");
    second.add("plain");
    second.add("two_models");
    Loader loader({first.path(), second.path()});
    CHECK(row_of(loader.registry, "model", "plain", first.path()).shadowed_by == nullptr);
    const auto& later = row_of(loader.registry, "model", "plain", second.path());
    REQUIRE(later.shadowed_by != nullptr);
    CHECK(later.shadowed_by->folder == first.path());
    loader.registry.factory(Kind::model, "plain");
    REQUIRE(loader.registry.used().size() == 1);
    CHECK(loader.registry.used()[0].candidate->folder == first.path());
    CHECK_NOTHROW(loader.registry.factory(Kind::model, "first"));  // the rest of the second folder still counts
  }

  TEST_CASE("a refused plugin in an earlier folder is not silently replaced by one in a later folder") {
    PluginFolder first, second;
    first.add("newer_epoch");
    std::string good = bytes_of(PluginFolder::built("newer_epoch"));
    const auto at = good.find("\nabi=2\n");
    REQUIRE(at != std::string::npos);
    second.write("good.convoy.so", good.replace(at, 7, "\nabi=1\n"));
    CHECK_NOTHROW(Loader({second.path()}).registry.factory(Kind::model, "newer_epoch"));
    Loader loader({first.path(), second.path()});
    CHECK(thrown([&] { loader.registry.factory(Kind::model, "newer_epoch"); }).number() == "P201");
  }

  TEST_CASE("a file that others may write to shadows nobody: not even its manifest is believed") {
    PluginFolder first, second;
    std::filesystem::permissions(first.add("plain"), std::filesystem::perms(0666));
    second.add("plain");
    Loader loader({first.path(), second.path()});
    loader.registry.factory(Kind::model, "plain");
    CHECK(loader.registry.used().at(0).candidate->folder == second.path());
  }

  TEST_CASE("one folder given twice, or through a link, is one folder") {
    PluginFolder folder, other;
    folder.add("plain");
    std::filesystem::create_directory_symlink(folder.path(), other.path() / "link");
    Loader loader({folder.path(), folder.path(), other.path() / "link"});
    CHECK(loader.registry.rows().size() == 1);
  }

  TEST_CASE("only files that end in .convoy.so are looked at, and no folder below") {
    PluginFolder folder;
    folder.add("plain", "plain.so");
    folder.add("plain", "plain.convoy.so.bak");
    std::filesystem::create_directory(folder.path() / "below");
    folder.add("plain", "below/plain.convoy.so");
    Loader loader({folder.path()});
    CHECK(loader.registry.rows().empty());
  }

  TEST_CASE("P105: a file that an experiment names is not loaded without permission") {
    PluginFolder folder;
    folder.add("plain", "mine.convoy.so");
    Loader loader({});
    const Error e = thrown([&] { loader.registry.factory(Kind::model, "./mine.convoy.so", {"exp.toml", 3, 1}); });
    CHECK(e.number() == "P105");
    CHECK(e.exit_code() == 2);
    CHECK(std::string(e.what()) == "exp.toml asks to load './mine.convoy.so', which would run code shipped with an experiment file");
    CHECK(note(e, "fix") == "check the file, then add --allow-experiment-plugins");
  }

  TEST_CASE("with permission a file is found from the experiment's folder, and its plugin by kind alone") {
    PluginFolder folder;
    folder.add("plain", "mine.convoy.so");
    Loader loader({});
    loader.registry.allow_experiment_plugins(folder.path());
    CHECK(sdk::text(loader.registry.factory(Kind::model, "./mine.convoy.so").name()) == "plain");
    CHECK(loader.registry.version(Kind::model, "./mine.convoy.so") == "1.2.3");
  }

  TEST_CASE("P104: a link that others could turn elsewhere is not followed, even to a good file of the search path") {
    PluginFolder good, open;
    good.add("plain");
    std::filesystem::create_symlink(good.path() / "plain.convoy.so", open.path() / "mine.convoy.so");
    Loader loader({good.path()});
    loader.registry.allow_experiment_plugins(open.path());
    CHECK_NOTHROW(loader.registry.factory(Kind::model, "./mine.convoy.so"));
    std::filesystem::permissions(open.path(), std::filesystem::perms(0777));
    CHECK(thrown([&] { loader.registry.factory(Kind::model, "./mine.convoy.so"); }).number() == "P104");
    std::filesystem::permissions(open.path(), std::filesystem::perms(0700));
  }

  TEST_CASE("a folder that cannot be read is an error where it was asked for, else a warning") {
    if (geteuid() == 0) {
      MESSAGE("skipped: root may read everything");
      return;
    }
    PluginFolder folder;
    std::filesystem::permissions(folder.path(), std::filesystem::perms(0300));
    KeptLog log;
    plugin::Host host(log);
    const plugin::SearchPath path{{folder.path()}, {}};
    CHECK(thrown([&] { plugin::Registry(host, path, 1); }).exit_code() == 2);
    CHECK(plugin::Registry(host, path, 0).warnings().size() == 1);
    std::filesystem::permissions(folder.path(), std::filesystem::perms(0700));
  }

  TEST_CASE("P107: a file without a plugin of the kind says what it has, and where that belongs") {
    PluginFolder folder;
    folder.add("liar", "mine.convoy.so");
    Loader loader({});
    loader.registry.allow_experiment_plugins(folder.path());
    const Error e = thrown([&] { loader.registry.factory(Kind::model, "./mine.convoy.so"); });
    CHECK(e.number() == "P107");
    CHECK(e.exit_code() == 2);
    CHECK(std::string(e.what()) == "'./mine.convoy.so' provides no model (it provides device:liar)");
    CHECK(note(e, "fix") == "[device] use = \"./mine.convoy.so\"");
  }

  TEST_CASE("P107: a file with two plugins of the kind leaves the choice open") {
    PluginFolder folder;
    folder.add("two_models");
    Loader loader({});
    loader.registry.allow_experiment_plugins(folder.path());
    const Error e = thrown([&] { loader.registry.factory(Kind::model, "./two_models.convoy.so"); });
    CHECK(e.number() == "P107");
    CHECK(std::string(e.what()) == "'./two_models.convoy.so' provides 2 of kind model (it provides model:first, model:second)");
  }

  TEST_CASE("a refused file stays refused when an experiment names it a second time, or it lies in the search path") {
    PluginFolder folder;
    folder.add("newer_epoch");
    folder.write("text.convoy.so", "no library\n");
    Loader loader({folder.path()});
    loader.registry.allow_experiment_plugins(folder.path());
    for (int time = 0; time < 2; ++time) {
      CHECK(thrown([&] { loader.registry.factory(Kind::model, "./newer_epoch.convoy.so"); }).number() == "P201");
      CHECK(thrown([&] { loader.registry.factory(Kind::model, "./text.convoy.so"); }).number() == "P208");
      CHECK(thrown([&] { loader.registry.factory(Kind::device, "./absent.convoy.so"); }).number() == "P208");
    }
    CHECK(loader.registry.used().empty());
  }
}
