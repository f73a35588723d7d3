// Photographs from files: configs/train/photos.toml learns, and what a run does with pictures that cannot be read.
#include "run_in_folder.hpp"

#include "shared_data.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

using namespace convoy::testing;
namespace fs = std::filesystem;

namespace {

std::string small_experiment(const fs::path& data, const std::string& more) {
  return "[run]\nsteps = 4\n[model]\nuse = \"lenet\"\nwidth = 4\nimage = 32\n[device]\nuse = \"cpu\"\n[data]\nuse = \"image_folder\"\n"
         "batch = 16\npath = \"" + data.string() + "\"\n" + more + "[optimizer]\nlr = 0.01\n";
}

/// Class folders with a few of the photographs.
void copy_some(const fs::path& photos, const fs::path& to) {
  for (const char* split : {"train", "test"})
    for (const char* c : {"Kiwi", "Lemon"}) {
      fs::create_directories(to / split / c);
      for (int i = 1; i <= 20; ++i) {
        const std::string name = std::string(c) + (i < 10 ? "_00" : "_0") + std::to_string(i) + ".jpg";
        fs::copy_file(photos / split / c / name, to / split / c / name);
      }
    }
}

}  // namespace

TEST_SUITE("photographs") {
  TEST_CASE("bad pictures within the bound are in skipped.ndjson; beyond it the run ends with 3, file and reason") {
    const auto shared = shared_data();
    if (!shared) {
      MESSAGE("skipped: no shared data (CONVOY_SHARED)");
      return;
    }
    Scratch s;
    const auto data = s.path() / "pictures";
    copy_some(*shared / "data" / "photos", data);
    const auto odd = *shared / "data" / "odd_images";
    fs::copy_file(odd / "truncated_photo.jpg", data / "train" / "Kiwi" / "Kiwi_007.jpg", fs::copy_options::overwrite_existing);
    fs::copy_file(odd / "text_named.jpg", data / "test" / "Lemon" / "Lemon_003.jpg", fs::copy_options::overwrite_existing);

    const auto tolerant = run_experiment(s, small_experiment(data, "max_bad = 0.05\n"));
    CAPTURE(tolerant.outcome.text);
    REQUIRE(tolerant.outcome.exit_code == 0);
    CHECK(tolerant.summary["skipped_samples"].get<int>() == 2);
    std::istringstream lines(content(tolerant.folder / "skipped.ndjson"));
    std::vector<std::string> files;
    for (std::string line; std::getline(lines, line);) {
      const auto j = nlohmann::json::parse(line);
      CHECK(!j["reason"].get<std::string>().empty());
      files.push_back(j["split"].get<std::string>() + " " + fs::path(j["file"].get<std::string>()).filename().string());
    }
    std::sort(files.begin(), files.end());
    CHECK(files == std::vector<std::string>{"eval Lemon_003.jpg", "train Kiwi_007.jpg"});
    // Of 40 pictures held out 39 count: 1 / 39 of them is a share that 40 cannot give.
    const double right = tolerant.summary["top1"].get<double>() * 39;
    CHECK(right == doctest::Approx(std::round(right)));

    const auto strict = run_experiment(s, small_experiment(data, ""));
    CHECK(strict.outcome.exit_code == 3);
    CAPTURE(strict.outcome.text);
    CHECK(strict.outcome.text.find("Kiwi_007.jpg: JPEG: ") != std::string::npos);
    CHECK(strict.summary["exit_code"].get<int>() == 3);
  }

  TEST_CASE("photos.toml: a small ResNet learns six kinds of fruit from 281 photographs") {
    const auto shared = shared_data();
    if (!shared) {
      MESSAGE("skipped: no shared data (CONVOY_SHARED)");
      return;
    }
    // The whole run takes minutes and reaches 80 % and more; half of its epochs are enough to see that it learns.
    constexpr double kEnough = 0.6;  // always guessing the commonest class gives 0.21
    Scratch s;
    const auto seen = run_experiment(
        s, content(fs::path(CONVOY_SOURCE_DIR) / "configs" / "train" / "photos.toml"),
        {"--set", "data.path=" + (*shared / "data" / "photos").string(), "--set", "run.epochs=10", "--set", "run.evaluate_every_epochs=0",
         "--set", "device.threads=1"});  // threads that wait for each other are many times slower where other tests run
    CAPTURE(seen.outcome.text);
    REQUIRE(seen.outcome.exit_code == 0);
    MESSAGE("held-out top-1 after 10 epochs: " << seen.summary["top1"].get<double>());
    CHECK(seen.summary["top1"].get<double>() > kEnough);
  }
}
