// Sweeps: every combination a row, whatever happens to one of them; and going on with an interrupted one.
#include "small_benchmark.hpp"

using namespace convoy::testing;

namespace {

std::vector<std::string> column(const std::vector<Row>& rows, const char* name) {
  std::vector<std::string> out;
  for (const Row& r : rows) out.push_back(r.at(name));
  return out;
}

}  // namespace

TEST_SUITE("sweep") {
  TEST_CASE("networks across and batches down, in one results.csv") {
    Scratch s;
    const auto run = run_experiment(s, kSmallBenchmark + "[sweep]\nmodel = [{ use = 'lenet', width = 4 }, { use = 'lenet', width = 8 }, { use = 'resnet', depth = 20 }]\n",
                                    {"--sweep", "data.batch=1,2"});
    REQUIRE_MESSAGE(run.outcome.exit_code == 0, run.outcome.text);
    const auto rows = results(run.folder);
    CHECK(column(rows, "model") == std::vector<std::string>{"lenet", "lenet", "lenet", "lenet", "resnet", "resnet"});
    CHECK(column(rows, "batch_per_replica") == std::vector<std::string>{"1", "2", "1", "2", "1", "2"});
    CHECK(column(rows, "status") == std::vector<std::string>(6, "ok"));
    CHECK(rows[3].at("sweep") == "model.use=lenet model.width=8 data.batch=2");
    const auto table = run.outcome.text.substr(run.outcome.text.find("\nimages/s\n"));
    const auto head = table.substr(table.find("batch"), table.find('\n', table.find("batch")) - table.find("batch"));
    for (const char* network : {"lenet 4", "lenet 8", "resnet"}) CHECK_MESSAGE(has(head, network), head);
    // Rounds: the second repeat of the first row comes after the first repeat of the last one.
    CHECK(run.outcome.text.find("[2/2] model.use=lenet model.width=4 data.batch=1") > run.outcome.text.find("[1/2] model.use=resnet model.depth=20 data.batch=2"));
  }

  TEST_CASE("out of memory and errors are rows that a sweep goes on after") {
    Scratch s;
    const auto run = run_experiment(s, kSmallBenchmark, {"--set", "benchmark.repeats=1", "--sweep", "data.batch=2,16000000,4"});
    CHECK_MESSAGE(run.outcome.exit_code == 0, run.outcome.text);
    CHECK(column(results(run.folder), "status") == std::vector<std::string>{"ok", "out_of_memory", "ok"});
    CHECK(has(run.outcome.text, "out_of_memory"));
    const auto second = run_experiment(s, kSmallBenchmark, {"--set", "benchmark.repeats=1", "--set", "data.use=idx", "--set", "data.path=nowhere", "--sweep", "data.batch=2,4"});
    CHECK_MESSAGE(second.outcome.exit_code == 3, second.outcome.text);
    CHECK(column(results(second.folder), "status") == std::vector<std::string>{"error", "error"});
  }

  TEST_CASE("a sweep goes on where it was interrupted: finished rows are not measured again") {
    Scratch s;
    const auto experiment = s.write("experiment.toml", kSmallBenchmark);
    const auto runs = s.path() / "runs";
    const std::vector<std::string> args{experiment.string(), "--out", runs.string(), "--sweep", "data.batch=1,2", "--resume", "auto"};
    REQUIRE(Program().run(args).exit_code == 0);
    std::filesystem::path folder;
    for (const auto& entry : std::filesystem::directory_iterator(runs)) folder = entry.path();
    const auto first = content(folder / "results.csv");
    // As an interrupt in the second round would have left it: three of four repeats.
    auto repeats = content(folder / "repeats.ndjson");
    repeats.erase(repeats.rfind('\n', repeats.size() - 2) + 1);
    std::ofstream(folder / "repeats.ndjson", std::ios::binary) << repeats << "{\"torn";
    const auto again = Program().run(args);
    REQUIRE_MESSAGE(again.exit_code == 0, again.text);
    CHECK_MESSAGE(has(again.text, "1 of 2 configurations are finished already"), again.text);
    CHECK_FALSE(has(again.text, "[1/2]"));
    CHECK(has(again.text, "[2/2] data.batch=2"));
    CHECK(std::distance(std::filesystem::directory_iterator(runs), {}) == 1);
    const auto rows = results(folder);
    REQUIRE(rows.size() == 2);
    CHECK(column(rows, "repeats") == std::vector<std::string>{"2", "2"});
    CHECK(content(folder / "results.csv").substr(0, first.find("data.batch=1")) == first.substr(0, first.find("data.batch=1")));
    const auto third = Program().run(args);
    CHECK(has(third.text, "2 of 2 configurations are finished already"));
    CHECK_FALSE(has(third.text, "[2/2]"));
    // Another sweep is not mixed into it.
    const auto other = Program().run({experiment.string(), "--sweep", "data.batch=1,2,4", "--resume", folder.string()});
    CHECK(other.exit_code == 2);
    CHECK(has(other.text, "another sweep"));
  }

  TEST_CASE("resolved.toml of a sweep validates to itself and names the sweep") {
    Scratch s;
    const auto first = Program().run({"validate", s.write("a.toml", kSmallBenchmark).string(), "--sweep", "data.batch=1,2", "--sweep", "model=[{width=4},{width=8}]"});
    REQUIRE_MESSAGE(first.exit_code == 0, first.text);
    CHECK(has(first.text, "[sweep]"));
    const auto second = Program().run({"validate", s.write("b.toml", first.text).string()});
    CHECK(second.exit_code == 0);
    CHECK(first.text == second.text);
  }

  TEST_CASE("trainings are swept too, each with a run directory of its own") {
    Scratch s;
    const auto run = run_experiment(s, kSmallExperiment, {"--sweep", "optimizer.lr=0.01,0.02"});
    REQUIRE_MESSAGE(run.outcome.exit_code == 0, run.outcome.text);
    const auto rows = results(run.folder);
    CHECK(column(rows, "sweep") == std::vector<std::string>{"optimizer.lr=0.01", "optimizer.lr=0.02"});
    CHECK(column(rows, "status") == std::vector<std::string>{"ok", "ok"});
    int weights = 0;
    for (const auto& entry : std::filesystem::directory_iterator(run.folder)) weights += std::filesystem::exists(entry.path() / "weights.safetensors") ? 1 : 0;
    CHECK(weights == 2);
  }

  TEST_CASE("the benchmarks that come with Convoy are experiments") {
    for (const char* config : {"inference.toml", "train.toml"}) {
      const auto o = Program().run({"validate", std::string(CONVOY_SOURCE_DIR) + "/configs/bench/" + config});
      CHECK_MESSAGE(o.exit_code == 0, o.text);
    }
  }
}
