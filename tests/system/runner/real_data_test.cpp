// Real pictures and a trained network: what people see when they point Convoy at their own files.
#include "png_pixels.hpp"
#include "run_in_folder.hpp"

#include "shared_data.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

using namespace convoy::testing;

namespace {

// Single precision against double: the source of the logits states about 1e-5; 1e-4 is what is promised.
constexpr double kLogits = 1e-4;

std::vector<std::vector<std::string>> csv_rows(const std::filesystem::path& file) {
  std::vector<std::vector<std::string>> out;
  std::istringstream in(content(file));
  for (std::string line; std::getline(in, line);) {
    out.emplace_back();
    std::istringstream fields(line);
    for (std::string f; std::getline(fields, f, ',');) out.back().push_back(f);
  }
  return out;
}

std::string evaluation(const std::filesystem::path& data, const std::filesystem::path& weights) {
  return "[run]\nmode = \"evaluate\"\npredictions = true\n[model]\nuse = \"resnet\"\ndepth = 20\nweights = \"" + weights.string() +
         "\"\n[device]\nuse = \"cpu\"\n[data]\nuse = \"cifar\"\nbatch = 50\npath = \"" + data.string() +
         "\"\nmean = [0.485, 0.456, 0.406]\nstd = [0.229, 0.224, 0.225]\n";
}

/// The first `n` rows of predictions against rows [first, first + n) of the reference.
void compare_logits(const std::filesystem::path& predictions, const std::vector<std::vector<std::string>>& reference, std::size_t first, std::size_t n) {
  const auto got = csv_rows(predictions);
  REQUIRE(got.size() > n);
  double worst = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < 10; ++k)
      worst = std::max(worst, std::abs(std::stod(got[1 + i][4 + k]) - std::stod(reference[1 + first + i][2 + k])));
  MESSAGE("largest difference of a logit: " << worst);
  CHECK(worst < kLogits);
}

}  // namespace

TEST_SUITE("real data") {
  TEST_CASE("a trained ResNet-20 from elsewhere gives the logits of its double-precision reference") {
    const auto shared = shared_data();
    if (!shared) {
      MESSAGE("skipped: no shared data (CONVOY_SHARED)");
      return;
    }
    const auto weights = *shared / "data" / "checkpoint" / "resnet20_cifar10.safetensors";
    const auto reference = csv_rows(*shared / "data" / "checkpoint" / "resnet20_reference_logits.csv");
    Scratch s;
    const auto seen = run_experiment(s, evaluation(*shared / "data" / "cifar10", weights));
    CAPTURE(seen.outcome.text);
    REQUIRE(seen.outcome.exit_code == 0);
    CHECK(seen.summary["top1"].get<double>() * 500 == doctest::Approx(499));
    compare_logits(seen.folder / "predictions.csv", reference, 10, 10);

    std::string records;  // the ten official test pictures as one binary file
    for (std::size_t i = 0; i < 10; ++i) {
      const std::string& name = reference[1 + i][0];
      records += static_cast<char>(std::stoi(reference[1 + i][1]));
      const auto pixels = planar_png(content(*shared / "data" / "cifar10" / name), 32);
      records.append(pixels.begin(), pixels.end());
    }
    s.write("test_batch.bin", records);
    const auto official = run_experiment(s, evaluation(s.path(), weights));
    CAPTURE(official.outcome.text);
    REQUIRE(official.outcome.exit_code == 0);
    CHECK(official.summary["top1"].get<double>() == 1.0);
    compare_logits(official.folder / "predictions.csv", reference, 0, 10);
  }
}
