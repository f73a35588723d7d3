// What a run leaves behind, and that it can be run again and evaluated from there.
#include "run_in_folder.hpp"

#include <sstream>

using namespace convoy::testing;
using nlohmann::json;

namespace {

std::vector<json> metrics(const std::filesystem::path& folder) {
  std::istringstream in(content(folder / "metrics.ndjson"));
  std::vector<json> out;
  for (std::string line; std::getline(in, line);) out.push_back(json::parse(line));
  return out;
}

}  // namespace

TEST_SUITE("run directory") {
  TEST_CASE("a run leaves its files, and they say the same thing") {
    Scratch scratch;
    const auto run = run_experiment(scratch, kSmallExperiment);
    CAPTURE(run.outcome.text);
    REQUIRE(run.outcome.exit_code == 0);
    for (const char* file : {"resolved.toml", "manifest.json", "metrics.ndjson", "results.csv", "summary.json", "log.txt", "weights.safetensors"})
      CHECK_MESSAGE(std::filesystem::exists(run.folder / file), file);
    CHECK(run.summary["status"] == "done");
    CHECK(run.summary["exit_code"] == 0);
    CHECK(run.summary["steps"] == 12);
    CHECK(run.summary["epochs"] == doctest::Approx(1.5));
    for (const char* key : {"train_loss", "loss", "top1", "top5", "images_per_second", "wall_s", "best_top1"}) CHECK_MESSAGE(run.summary[key].is_number(), key);
    CHECK(run.summary["top1"] <= run.summary["top5"]);
    const auto lines = metrics(run.folder);
    CHECK(lines.back()["event"] == "evaluation");
    CHECK(lines.back()["top1"] == run.summary["top1"]);
    CHECK(lines.back()["samples"] == 64);
    const std::string csv = content(run.folder / "results.csv");
    CHECK(csv.find("model,variant,mode,device,") == 0);
    CHECK(csv.find("\nlenet,") != std::string::npos);
    const auto manifest = json::parse(content(run.folder / "manifest.json"));
    CHECK(manifest.dump().find("device:cpu") != std::string::npos);
    CHECK(manifest.dump().find("libdnnl") != std::string::npos);
  }

  TEST_CASE("resolved.toml runs again to the same bits, also with other numbers of reader threads") {
    Scratch scratch;
    const auto first = run_experiment(scratch, kSmallExperiment);
    REQUIRE(first.outcome.exit_code == 0);
    const std::string resolved = content(first.folder / "resolved.toml"), weights = content(first.folder / "weights.safetensors");
    for (const char* readers : {"data.workers=1", "data.workers=3"}) {
      const auto again = run_experiment(scratch, resolved, {"--set", readers});
      CAPTURE(again.outcome.text);
      REQUIRE(again.outcome.exit_code == 0);
      CHECK(again.summary["train_loss"] == first.summary["train_loss"]);
      CHECK(content(again.folder / "weights.safetensors") == weights);
    }
    CHECK(run_experiment(scratch, resolved, {"--set", "run.seed=4"}).summary["train_loss"] != first.summary["train_loss"]);
  }

  TEST_CASE("the weights of a run evaluate to what the run measured") {
    Scratch scratch;
    const auto trained = run_experiment(scratch, kSmallExperiment);
    REQUIRE(trained.outcome.exit_code == 0);
    std::filesystem::copy(trained.folder / "weights.safetensors", scratch.path() / "w.safetensors");
    const auto evaluated = run_experiment(scratch, kSmallExperiment, {"--set", "run.mode=evaluate", "--set", "model.weights=w.safetensors", "--set", "run.predictions=true", "--set", "data.batch=10"});
    CAPTURE(evaluated.outcome.text);
    REQUIRE(evaluated.outcome.exit_code == 0);
    CHECK(evaluated.summary["top1"] == trained.summary["top1"]);
    // Another batch size: sums of single precision in another order.
    CHECK(evaluated.summary["loss"].get<double>() == doctest::Approx(trained.summary["loss"].get<double>()).epsilon(1e-5));
    const std::string predictions = content(evaluated.folder / "predictions.csv");
    CHECK(std::count(predictions.begin(), predictions.end(), '\n') == 65);
  }

  TEST_CASE("epochs leave their weights, and only the last ones stay") {
    Scratch scratch;
    const auto run = run_experiment(scratch, kSmallExperiment, {"--set", "run.steps=40", "--set", "checkpoint.keep_last=2"});
    REQUIRE(run.outcome.exit_code == 0);
    std::vector<std::string> kept;
    for (const auto& entry : std::filesystem::directory_iterator(run.folder / "checkpoints")) kept.push_back(entry.path().filename().string());
    std::sort(kept.begin(), kept.end());
    CHECK(kept == std::vector<std::string>{"epoch-0003.safetensors", "epoch-0004.safetensors"});
  }

  TEST_CASE("a remainder is said aloud") {
    Scratch scratch;
    const auto rolled = run_experiment(scratch, kSmallExperiment, {"--set", "run.steps=2", "--set", "data.train_limit=100"});
    CHECK(rolled.outcome.exit_code == 0);
    std::string text = kSmallExperiment;
    text.replace(text.find("steps = 12"), 10, "epochs = 1");
    CHECK(has(run_experiment(scratch, text, {"--set", "data.train_limit=100"}).outcome.text, "the last 4 samples of the last epoch"));
    CHECK(has(run_experiment(scratch, text, {"--set", "data.train_limit=100", "--set", "data.remainder=drop"}).outcome.text, "4 samples of every epoch are dropped"));
  }
}
