// Devices and models that are wrong in one way: no number for them, and the row says why.
#include "small_benchmark.hpp"

using namespace convoy::testing;

namespace {

std::string folder(const char* plugin) { return std::string(CONVOY_BUILD_DIR) + "/tests/plugins/" + plugin; }

/// Runs with one fault; the row must say `status` and `words`, hold no rate, and the program end with `exit_code`.
void refused(const std::vector<std::string>& more, const std::string& status, const std::vector<std::string>& words, int exit_code,
             const std::string& experiment = kSmallBenchmark) {
  Scratch s;
  std::vector<std::string> args{"--plugin-dir", folder("faulty"), "--plugin-dir", folder("lazy")};
  args.insert(args.end(), more.begin(), more.end());
  const auto run = run_experiment(s, experiment, args);
  CAPTURE(words.front());
  CAPTURE(run.outcome.text);
  CHECK(run.outcome.exit_code == exit_code);
  const auto rows = results(run.folder);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].at("status") == status);
  for (const char* column : {"images_per_second", "step_ms", "minutes_per_million"}) CHECK(rows[0].at(column).empty());
  for (const auto& w : words) CHECK_MESSAGE(has(rows[0].at("gate"), w), rows[0].at("gate"));
  CHECK_FALSE(has(run.outcome.text, "images/s  "));
}

void faulty(const std::string& fault, const std::vector<std::string>& words, const std::string& pass = "train") {
  refused({"--set", "device.use=faulty", "--set", "benchmark.pass=" + pass, "--set", "device.fault=" + fault}, "gate_failed", words, 5);
}

}  // namespace

TEST_SUITE("gates") {
  TEST_CASE("the device of these tests passes without a fault") {
    Scratch s;
    for (const char* pass : {"train", "inference"}) {
      const auto run = run_experiment(s, kSmallBenchmark, {"--plugin-dir", folder("faulty"), "--set", "device.use=faulty", "--set", std::string("benchmark.pass=") + pass});
      REQUIRE_MESSAGE(run.outcome.exit_code == 0, run.outcome.text);
      CHECK(results(run.folder)[0].at("status") == "ok");
    }
  }

  TEST_CASE("a wrong gradient is refused: too large, missing, or not finite") {
    faulty("gradient_doubled", {"gradient of 'conv", "reference"});
    faulty("gradient_missing", {"gradient of 'conv", "reference"});
    faulty("gradient_nan", {"gradient of", "is not finite"});
  }

  TEST_CASE("a wrong gradient is refused without the small instance too: the configuration's own slope shows it") {
    // A device under the oracle's own name is compared with nothing.
    Scratch s;
    const auto run = run_experiment(s, kSmallBenchmark, {"--plugin-dir", folder("faulty_oracle"), "--set", "device.use=reference", "--set", "device.fault=gradient_doubled"});
    CHECK(run.outcome.exit_code == 5);
    const auto rows = results(run.folder);
    REQUIRE(rows.size() == 1);
    CHECK_MESSAGE(has(rows[0].at("gate"), "along its gradient the loss changes otherwise"), rows[0].at("gate"));
  }

  TEST_CASE("parameters that are not updated, or updated the wrong way, are refused") {
    faulty("no_update", {"update of", "reference"});
    faulty("ascends", {"update of", "reference"});
  }

  TEST_CASE("wrong or infinite outputs are refused in inference") {
    faulty("logits_nan", {"not finite"}, "inference");
    faulty("pooling_doubled", {"logits differ from reference"}, "inference");
  }

  TEST_CASE("a model that only goes forward, or has a layer that learns nothing, is refused") {
    refused({}, "gate_failed", {"nothing to train"}, 5, benchmark_of("use = 'lazy'\n"));
    refused({}, "gate_failed", {"'idle.weight' has no gradient"}, 5, benchmark_of("use = 'lazy'\nhow = 'idle_layer'\n"));
  }

  TEST_CASE("what a device cannot do is a row, not a crash") {
    refused({"--set", "device.use=faulty", "--set", "device.fault=unsupported"}, "unsupported", {"no relu here"}, 4);
    refused({"--set", "device.precision=bf16"}, "unsupported", {"bf16"}, 2);
  }

  TEST_CASE("out of memory is a row, not a crash") {
    refused({"--set", "data.batch=16000000"}, "out_of_memory", {"memory"}, 4);
  }
}
