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

  TEST_CASE("an interrupt ends cleanly with 75, weights and a summary") {
    Scratch s;
    const auto experiment = s.write("experiment.toml", kSmallExperiment);
    const auto runs = s.path() / "runs";
    const std::string runner = std::string(CONVOY_BUILD_DIR) + "/bin/runner";
    // timeout(1) sends the signal; a million steps would take hours.
    const auto o = Program("/usr/bin/timeout").run({"--preserve-status", "-s", "INT", "3", runner, experiment.string(), "--out", runs.string(), "--set", "run.steps=1000000"});
    expect(o, 75, {"stopped"});
    for (const auto& entry : std::filesystem::directory_iterator(runs)) {
      CHECK(nlohmann::json::parse(content(entry.path() / "summary.json"))["status"] == "stopped");
      CHECK(std::filesystem::exists(entry.path() / "weights.safetensors"));
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
