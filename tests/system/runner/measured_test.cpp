// Rates that a run reports, and what a run that fails or is stopped leaves of them.
#include "run_in_folder.hpp"

#include <map>
#include <sstream>

using namespace convoy::testing;
using nlohmann::json;

namespace {

/// The columns of the last row of results.csv by name; no field of these runs is quoted with commas inside.
std::map<std::string, std::string> result_row(const std::filesystem::path& folder) {
  std::istringstream in(content(folder / "results.csv"));
  std::string header, row, line;
  std::getline(in, header);
  while (std::getline(in, line)) row = line;
  std::map<std::string, std::string> out;
  std::istringstream names(header), fields(row);
  for (std::string name, field; std::getline(names, name, ',');) {
    std::getline(fields, field, ',');
    out[name] = field;
    field.clear();
  }
  return out;
}

/// Starts the program and sends it a signal as soon as its metrics hold a line with `word`.
Outcome stopped_after(const Scratch& s, const std::string& word, const std::string& sets) {
  const auto experiment = s.write("experiment.toml", kSmallExperiment);
  const std::string runs = (s.path() / "runs").string();
  return Program("/bin/bash").run({"-c", "'" CONVOY_BUILD_DIR "/bin/runner' '" + experiment.string() + "' --out '" + runs + "' " + sets + " & p=$!; " +
                                             "while kill -0 $p && ! grep -qs '" + word + "' '" + runs + "'/*/metrics.ndjson; do sleep 0.02; done; kill -TERM $p; wait $p"});
}

std::filesystem::path only_run(const Scratch& s) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(s.path() / "runs")) found.push_back(entry.path());
  REQUIRE(found.size() == 1);
  return found[0];
}

}  // namespace

TEST_SUITE("measured") {
  TEST_CASE("rates agree with the wall clock however few steps an epoch has") {
    Scratch s;
    for (const char* train : {"data.train=16", "data.train=32", "data.train=48"}) {  // one, two, three steps
      CAPTURE(train);
      const auto run = run_experiment(s, kSmallExperiment, {"--set", train, "--set", "data.batch=16", "--set", "run.steps=24", "--set", "run.log_every=1"});
      CAPTURE(run.outcome.text);
      REQUIRE(run.outcome.exit_code == 0);
      const auto row = result_row(run.folder);
      // No step is a hundredth of the median one: 24 equal steps on one machine, even if it is busy.
      CHECK(std::stod(row.at("images_per_second_p90")) < 100 * std::stod(row.at("images_per_second")));
      CHECK(24 * std::stod(row.at("step_ms")) < 1e3 * run.summary["wall_s"].get<double>());
    }
  }

  TEST_CASE("a run that fails leaves a row that says so") {
    Scratch s;
    for (const char* device : {"device.use=cpu", "device.use=mock"}) {  // mock: two steps in flight when the loss is seen
      CAPTURE(device);
      const auto run = run_experiment(s, kSmallExperiment, {"--set", device, "--set", "optimizer.lr=1e30"});
      CHECK(run.outcome.exit_code == 5);
      CHECK(run.summary["status"] == "failed");
      CHECK(result_row(run.folder).at("status") == "error");
    }
  }

  TEST_CASE("one batch for a whole run is refused where there are samples to learn from") {
    Scratch s;
    const auto run = run_experiment(s, kSmallExperiment, {"--set", "data.residency=device"});
    CHECK(run.outcome.exit_code == 2);
    CHECK(run.outcome.text.find("data.residency") != std::string::npos);
  }

  TEST_CASE("a stop during the last evaluation is a stop, and the weights are there") {
    Scratch s;
    const auto o = stopped_after(s, "epoch", "--set run.steps=1 --set run.log_every=1 --set data.eval=200000 --set data.eval_limit=200000");
    CAPTURE(o.text);
    CHECK(o.exit_code == 75);
    const auto folder = only_run(s);
    CHECK(json::parse(content(folder / "summary.json"))["status"] == "stopped");
    CHECK(std::filesystem::exists(folder / "weights.safetensors"));
  }
}
