// Whole trainings on real pictures: minutes, so they are labelled slow.
#include "run_in_folder.hpp"

#include "shared_data.hpp"

using namespace convoy::testing;

namespace {

Outcome run_config(const Scratch& s, const std::string& config, const std::filesystem::path& data, nlohmann::json& summary) {
  const auto runs = s.path() / "runs";
  const auto o = Program().run({std::string(CONVOY_SOURCE_DIR) + "/configs/" + config, "--out", runs.string(), "--set", "data.path=\"" + data.string() + "\""});
  for (const auto& entry : std::filesystem::directory_iterator(runs)) summary = nlohmann::json::parse(content(entry.path() / "summary.json"));
  return o;
}

}  // namespace

TEST_SUITE("training") {
  TEST_CASE("the quick start learns its figures to 95 % and more") {
    Scratch s;
    const auto o = Program().run({std::string(CONVOY_SOURCE_DIR) + "/configs/quickstart.toml", "--out", s.path().string()});
    CAPTURE(o.text);
    REQUIRE(o.exit_code == 0);
    for (const auto& entry : std::filesystem::directory_iterator(s.path())) {
      const auto summary = nlohmann::json::parse(content(entry.path() / "summary.json"));
      MESSAGE("quick start: top-1 " << summary["top1"] << " in " << summary["wall_s"] << " s");
      CHECK(summary["top1"] >= 0.95);
    }
  }

  TEST_CASE("MNIST reaches 97 % after three epochs, and 1,500 pictures of CIFAR-10 50 % after thirty") {
    const auto shared = shared_data();
    if (!shared) {
      MESSAGE("skipped: no shared data (CONVOY_SHARED)");
      return;
    }
    Scratch mnist, cifar;
    nlohmann::json summary;
    const auto digits = run_config(mnist, "train/mnist.toml", *shared / "data" / "mnist", summary);
    CAPTURE(digits.text);
    CHECK(digits.exit_code == 0);
    CHECK(summary["epochs"] == doctest::Approx(3).epsilon(0.01));  // whole batches of three epochs
    MESSAGE("MNIST: top-1 " << summary["top1"] << " in " << summary["wall_s"] << " s");
    CHECK(summary["top1"] >= 0.97);
    const auto pictures = run_config(cifar, "train/cifar10.toml", *shared / "data" / "cifar10", summary);
    CAPTURE(pictures.text);
    CHECK(pictures.exit_code == 0);
    CHECK(summary["epochs"] == doctest::Approx(30).epsilon(0.01));
    MESSAGE("CIFAR-10, 1,500 pictures: top-1 " << summary["top1"] << " in " << summary["wall_s"] << " s");
    CHECK(summary["top1"] >= 0.5);
  }
}
