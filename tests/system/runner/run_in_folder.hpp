// Runs an experiment text in a scratch folder and finds what it left behind.
#pragma once

#include "plugins/program.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace convoy::testing {

/// A folder of its own, removed at the end.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "convoy-system-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path write(const std::string& name, const std::string& text) const {
    std::ofstream(path_ / name, std::ios::binary) << text;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

inline std::string content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Finished {
  Outcome outcome;
  std::filesystem::path folder;  // the run directory, empty where none was made
  nlohmann::json summary;
};

/// Runs `experiment` with `--out` into the scratch folder.
inline Finished run_experiment(const Scratch& scratch, const std::string& experiment, std::vector<std::string> more = {}) {
  const auto runs = scratch.path() / "runs";
  std::vector<std::string> args{scratch.write("experiment.toml", experiment).string(), "--out", runs.string()};
  args.insert(args.end(), more.begin(), more.end());
  std::filesystem::remove_all(runs);
  Finished out;
  out.outcome = Program().in(scratch.path()).run(args);
  if (std::filesystem::exists(runs))
    for (const auto& entry : std::filesystem::directory_iterator(runs)) out.folder = entry.path();
  if (std::filesystem::exists(out.folder / "summary.json")) out.summary = nlohmann::json::parse(content(out.folder / "summary.json"));
  return out;
}

/// Half a second of training that every system test can afford.
inline const std::string kSmallExperiment = R"([run]
name = "small"
steps = 12
seed = 3
[model]
use = "lenet"
width = 4
[device]
use = "cpu"
[data]
use = "shapes"
batch = 16
train_limit = 128
eval_limit = 64
[optimizer]
lr = 0.02
)";

}  // namespace convoy::testing
