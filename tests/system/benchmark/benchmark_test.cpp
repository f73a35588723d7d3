// mode = "benchmark": what a row holds, for both passes, wherever the images lie.
#include "small_benchmark.hpp"

using namespace convoy::testing;

TEST_SUITE("benchmark") {
  TEST_CASE("a training row holds rate, percentiles, gate, variant and what it cost") {
    Scratch s;
    const auto run = run_experiment(s, kSmallBenchmark + "[report]\nprice_per_minute = 0.5\ncurrency = 'EUR'\n");
    REQUIRE_MESSAGE(run.outcome.exit_code == 0, run.outcome.text);
    const auto rows = results(run.folder);
    REQUIRE(rows.size() == 1);
    const Row& r = rows[0];
    CHECK(r.at("model") == "lenet");
    CHECK(r.at("variant").find("width=4") != std::string::npos);
    CHECK(r.at("mode") == "train");
    CHECK(r.at("status") == "ok");
    CHECK(r.at("residency") == "device");
    CHECK(r.at("repeats") == "2");
    CHECK(r.at("batch_per_replica") == "4");
    for (const char* words : {"passed", "slope within", "gradients within"}) CHECK_MESSAGE(has(r.at("gate"), words), r.at("gate"));
    const double rate = number(r, "images_per_second");
    CHECK(rate > 0);
    CHECK(number(r, "images_per_second_p10") <= rate);
    CHECK(number(r, "images_per_second_p90") >= rate);
    CHECK(number(r, "step_ms") == doctest::Approx(4 / rate * 1e3));
    CHECK(number(r, "step_ms_p99") >= number(r, "step_ms"));
    CHECK(number(r, "minutes_per_million") == doctest::Approx(1e6 / rate / 60));
    CHECK(number(r, "cost_per_million") == doctest::Approx(0.5 * 1e6 / rate / 60));
    CHECK(number(r, "fraction_of_limit") > 0);
    CHECK(number(r, "fraction_of_limit") < 1);
    CHECK(number(r, "fraction_of_roofline") > number(r, "fraction_of_limit"));
    CHECK(run.summary["status"] == "done");
    CHECK(run.summary["images_per_second"].get<double>() == doctest::Approx(rate));
    CHECK(has(run.outcome.text, "EUR for 1,000,000 images"));
    for (const char* file : {"resolved.toml", "manifest.json", "summary.json", "log.txt"}) CHECK_MESSAGE(std::filesystem::exists(run.folder / file), file);
    const auto by_name = run_experiment(s, kSmallBenchmark + "[report]\nprice_per_minute = { \"" + r.at("device_name") + "\" = 2, other = 3 }\n");
    REQUIRE_MESSAGE(by_name.outcome.exit_code == 0, by_name.outcome.text);
    const Row priced = results(by_name.folder)[0];
    CHECK(number(priced, "cost_per_million") == doctest::Approx(2 * number(priced, "minutes_per_million")));
  }

  TEST_CASE("inference agrees with the unfused evaluation and with the reference, wherever images lie") {
    for (const std::string residency : {"device", "host", "real"}) {
      Scratch s;
      const auto run = run_experiment(s, benchmark_of("use = 'resnet'\ndepth = 20\n"), {"--set", "benchmark.pass=inference", "--set", "data.residency=" + residency});
      REQUIRE_MESSAGE(run.outcome.exit_code == 0, run.outcome.text);
      const auto rows = results(run.folder);
      REQUIRE(rows.size() == 1);
      CHECK(rows[0].at("mode") == "inference");
      CHECK(rows[0].at("residency") == residency);
      CHECK(number(rows[0], "images_per_second") > 0);
      for (const char* words : {"of reference", "of unfused"}) CHECK_MESSAGE(has(rows[0].at("gate"), words), rows[0].at("gate"));
    }
  }

  TEST_CASE("a device without a compiler, stitched, is measured too") {
    Scratch s;
    for (const char* device : {"reference", "mock"}) {
      const auto run = run_experiment(s, kSmallBenchmark, {"--set", std::string("device.use=") + device});
      REQUIRE_MESSAGE(run.outcome.exit_code == 0, run.outcome.text);
      CHECK(results(run.folder)[0].at("status") == "ok");
    }
  }

  TEST_CASE("a time limit ends a repeat early") {
    Scratch s;
    const auto run = run_experiment(s, kSmallBenchmark, {"--set", "benchmark.seconds=0.05", "--set", "benchmark.steps=1000000", "--set", "benchmark.repeats=1"});
    REQUIRE_MESSAGE(run.outcome.exit_code == 0, run.outcome.text);
    CHECK(number(results(run.folder)[0], "images_per_second") > 0);
  }
}
