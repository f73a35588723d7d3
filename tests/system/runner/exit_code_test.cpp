// Exit codes and messages: what a user or a script meets when something is wrong.
#include "run_in_folder.hpp"

#include "shared_data.hpp"

using namespace convoy::testing;

namespace {

void expect(const Outcome& o, int code, const std::vector<std::string>& words) {
  CAPTURE(o.text);
  CHECK(o.exit_code == code);
  for (const auto& w : words) CHECK_MESSAGE(has(o.text, w), "missing: " << w);
}

/// The one run directory below `runs`.
std::filesystem::path only_folder(const std::filesystem::path& runs) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(runs)) found.push_back(entry.path());
  REQUIRE(found.size() == 1);
  return found[0];
}

/// The small experiment with one change.
Finished with(const Scratch& scratch, const std::string& setting) { return run_experiment(scratch, kSmallExperiment, {"--set", setting}); }

}  // namespace

TEST_SUITE("exit codes") {
  TEST_CASE("wrong command lines are 2 and name the nearest right one") {
    expect(Program().run({}), 2, {"runner configs/quickstart.toml"});
    expect(Program().run({"--help"}), 0, {"Exit codes", "Examples"});
    expect(Program().run({"plugins", "--help"}), 0, {"--probe", "Examples"});
    expect(Program().run({"validat", "x.toml"}), 2, {"did you mean 'runner validate'?"});
    expect(Program().run({"x.toml", "--plugin-dr", "y"}), 2, {"did you mean --plugin-dir?"});
    expect(Program().run({"predict", "x.toml"}), 2, {"not in this version"});
    expect(Program().run({"nowhere.toml"}), 2, {"'nowhere.toml' does not exist"});
    Scratch s;
    expect(run_experiment(s, kSmallExperiment, {"--resume", "auto"}).outcome, 2, {"--resume", "not in this version"});
  }

  TEST_CASE("a misspelt key, table or value is 2, with its place and the nearest name") {
    Scratch s;
    expect(run_experiment(s, kSmallExperiment + "momentun = 0.9\n").outcome, 2, {"experiment.toml:17:1", "did you mean 'momentum'?"});
    expect(run_experiment(s, kSmallExperiment + "[shedule]\n").outcome, 2, {"experiment.toml:17", "did you mean [schedule]?"});
    expect(with(s, "model.widht=4").outcome, 2, {"error[P403]", "did you mean 'width'?"});
    expect(with(s, "device.precision=fp33").outcome, 2, {"did you mean \"fp32\"?"});
    expect(with(s, "device.use=cpuu").outcome, 2, {"error[P101]", "did you mean 'cpu'?"});
    expect(with(s, "data.batch=0").outcome, 2, {"data.batch = 0", "from 1 to"});
    expect(with(s, "device.precision=bf16").outcome, 2, {"does not compute in bf16"});
    expect(with(s, "device.count=2").outcome, 2, {"several replicas"});
    expect(with(s, "run.mode=evaluate").outcome, 2, {"needs trained weights"});
  }

  TEST_CASE("broken data files are 3, with file and reason") {
    const auto shared = shared_data();
    if (!shared) {
      MESSAGE("skipped: no shared data (CONVOY_SHARED)");
      return;
    }
    Scratch s;
    const auto mnist = *shared / "data" / "mnist", bad = *shared / "data" / "mnist_bad", cifar_bad = *shared / "data" / "cifar10_bad";
    const auto idx = [&](const std::string& key, const std::string& file) {
      return run_experiment(s, kSmallExperiment, {"--set", "data.use=idx", "--set", "data.path=\"" + mnist.string() + "\"", "--set", "data." + key + "=\"" + (bad / file).string() + "\""}).outcome;
    };
    expect(idx("train_images", "cut_short-images-idx3-ubyte"), 3, {"cut_short-images-idx3-ubyte"});
    expect(idx("train_images", "wrong_magic-images-idx3-ubyte"), 3, {"wrong_magic-images-idx3-ubyte"});
    expect(idx("train_labels", "label_count_differs-labels-idx1-ubyte"), 3, {"label_count_differs-labels-idx1-ubyte", "9999"});
    std::filesystem::copy(cifar_bad / "cut_short.bin", s.path() / "data_batch_1.bin");
    expect(run_experiment(s, kSmallExperiment, {"--set", "data.use=cifar", "--set", "data.path=\"" + s.path().string() + "\""}).outcome, 3, {"data_batch_1.bin"});
    s.write("w.safetensors", "12345");
    expect(with(s, "model.weights=w.safetensors").outcome, 3, {"w.safetensors"});
  }

  TEST_CASE("a loss that is not finite is 5, and the summary says so") {
    Scratch s;
    const auto run = with(s, "optimizer.lr=1e30");
    expect(run.outcome, 5, {"is not finite", "learning rate"});
    CHECK(run.summary["status"] == "failed");
    CHECK(run.summary["exit_code"] == 5);
  }

  TEST_CASE("results that cannot be written are 7") {
    Scratch s;
    const auto file = s.write("occupied", "a file, not a folder");
    const auto experiment = s.write("experiment.toml", kSmallExperiment);
    expect(Program().run({experiment.string(), "--out", (file / "runs").string()}), 7, {"occupied"});
  }

  TEST_CASE("options and shapes that cannot work are 2, without names of functions") {
    Scratch s;
    const auto refused = [&](std::vector<std::string> settings, const std::vector<std::string>& words) {
      std::string lines = "[run]\nsteps = 1\n[device]\nuse = \"cpu\"\n[optimizer]\nlr = 0.1\n";
      std::vector<std::string> arguments;
      for (const auto& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
      const auto o = run_experiment(s, lines, arguments).outcome;
      expect(o, 2, words);
      CHECK_FALSE(has(o.text, "::"));
      CHECK_FALSE(has(o.text, "create:"));
    };
    refused({"model.use=lenet", "data.use=shapes", "data.size=4"}, {"pictures of 3 x 4 x 4 are too small"});
    refused({"model.use=lenet", "data.use=synthetic", "model.image=7"}, {"lenet takes pictures of at least 16 x 16 pixels"});
    refused({"model.use=resnet", "data.use=shapes", "model.version=v2", "model.depth=20"}, {"depth 20 exists in one form only", "[model], --set model.use"});
  }

  TEST_CASE("a run goes on when nobody reads its progress any more, and when its output cannot be written") {
    Scratch s;
    const auto experiment = s.write("experiment.toml", kSmallExperiment).string();
    const std::string run = std::string(CONVOY_BUILD_DIR) + "/bin/runner " + experiment + " --out ";
    const auto shell = [&](const std::string& command) { return Program("/bin/bash").in(s.path()).run({"-c", command}); };
    CHECK(shell(run + "a | true; exit ${PIPESTATUS[0]}").exit_code == 0);
    CHECK(shell(run + "b > /dev/full").exit_code == 0);
    CHECK(shell(run + "c <&- >&- 2>&-").exit_code == 0);
    for (const char* out : {"a", "b", "c"}) {
      const auto folder = only_folder(s.path() / out);
      CHECK(nlohmann::json::parse(content(folder / "summary.json"))["status"] == "done");
      std::ifstream metrics(folder / "metrics.ndjson");
      for (std::string line; std::getline(metrics, line);) CHECK_MESSAGE(nlohmann::json::accept(line), line);
    }
  }

  TEST_CASE("what was asked for and cannot be printed is 7") {
    Scratch s;
    const auto experiment = s.write("experiment.toml", kSmallExperiment).string();
    for (const std::string& command : {"validate " + experiment, std::string("plugins"), std::string("describe lenet"), std::string("--help"), std::string("--version"), std::string("plugins --help"), std::string("x.toml --help")}) {
      CAPTURE(command);
      expect(Program("/bin/sh").run({"-c", std::string(CONVOY_BUILD_DIR) + "/bin/runner " + command + " > /dev/full"}), 7, {"standard output could not be written"});
    }
  }

  TEST_CASE("a file without a dot in its name is an experiment, and one without a usable name is called run") {
    Scratch s;
    std::string unnamed = kSmallExperiment;
    unnamed.erase(unnamed.find("name = "), std::string("name = \"small\"\n").size());
    for (const std::string name : {"plain", "\xff.toml"}) {
      s.write(name, unnamed);
      const auto o = Program().in(s.path()).run({"validate", name});
      expect(o, 0, {name == "plain" ? "name = \"plain\"" : "name = \"run\""});
    }
    s.write("plain", unnamed + "[shedule]\n");
    expect(Program().in(s.path()).run({"plain"}), 2, {"plain:16", "did you mean [schedule]?"});
  }

  TEST_CASE("a whole table in --set is answered with how to write it, and a far-off key with no guess") {
    Scratch s;
    expect(with(s, "model={use=\"lenet\"}").outcome, 2, {"table.key", "--set model.KEY=VALUE"});
    const auto o = with(s, "data.path=x").outcome;
    expect(o, 2, {"unknown option 'path'"});
    CHECK_FALSE(has(o.text, "did you mean"));
  }

  TEST_CASE("a relative plugin folder in a working directory that is gone is 2 and no bug") {
    Scratch s;
    const auto gone = s.path() / "gone";
    expect(Program("/bin/sh").run({"-c", "mkdir " + gone.string() + " && cd " + gone.string() + " && rmdir " + gone.string() + " && " + CONVOY_BUILD_DIR + "/bin/runner plugins --plugin-dir rel"}), 2,
           {"--plugin-dir rel", "working directory"});
  }

  TEST_CASE("an interrupt ends cleanly with 75, weights and a summary") {
    Scratch s;
    const auto experiment = s.write("experiment.toml", kSmallExperiment);
    const std::string run = std::string(CONVOY_BUILD_DIR) + "/bin/runner " + experiment.string() + " --set run.steps=1000000 --out ";  // a million steps would take hours
    for (const std::string signal : {"INT", "TERM", "HUP", "USR1"}) {
      CAPTURE(signal);
      const auto runs = s.path() / signal;
      // Sent when the first step is written, which is when it trains. A shell's background jobs ignore SIGINT, and the program
      // installs its handler all the same; SIGHUP it would leave ignored, as nohup wants it. Two minutes are for machines that are busy.
      const std::string wait = "for i in $(seq 1200); do [ -s \"$(echo " + runs.string() + "/*/metrics.ndjson)\" ] && break; sleep 0.1; done";
      expect(Program("/bin/bash").run({"-c", "env --default-signal=HUP " + run + runs.string() + " & child=$!; " + wait + "; kill -" + signal + " $child; wait $child"}), 75, {"stopped"});
      const auto folder = only_folder(runs);
      CHECK(nlohmann::json::parse(content(folder / "summary.json"))["status"] == "stopped");
      CHECK(std::filesystem::exists(folder / "weights.safetensors"));
    }
  }

  TEST_CASE("validate prints an experiment that validates to itself") {
    Scratch s;
    const auto first = Program().run({"validate", s.write("a.toml", kSmallExperiment).string()});
    REQUIRE(first.exit_code == 0);
    const auto second = Program().run({"validate", s.write("b.toml", first.text).string()});
    CHECK(second.exit_code == 0);
    CHECK(first.text == second.text);
  }
}
