// A benchmark that takes a second, and its results by column.
#pragma once

#include "run_in_folder.hpp"

#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace convoy::testing {

inline const std::string kSmallBenchmark = R"([run]
name = "small"
mode = "benchmark"
seed = 3
[benchmark]
pass = "train"
warmup_steps = 1
steps = 3
repeats = 2
[model]
use = "lenet"
width = 4
[device]
use = "cpu"
[data]
use = "synthetic"
batch = 4
[optimizer]
lr = 0.01
)";

/// The same with another network: lines of [model].
inline std::string benchmark_of(const std::string& model) {
  const std::string lenet = "use = \"lenet\"\nwidth = 4\n";
  std::string out = kSmallBenchmark;
  return out.replace(out.find(lenet), lenet.size(), model);
}

using Row = std::map<std::string, std::string>;

/// Reads quoted fields too; none of ours holds a line break.
inline std::vector<std::string> split_line(const std::string& line) {
  std::vector<std::string> out{""};
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') quoted = !quoted;
    else if (c == ',' && !quoted) out.emplace_back();
    else out.back() += c;
  }
  return out;
}

inline std::vector<Row> results(const std::filesystem::path& folder) {
  std::istringstream in(content(folder / "results.csv"));
  std::vector<Row> out;
  std::vector<std::string> header;
  for (std::string line; std::getline(in, line);) {
    const auto fields = split_line(line);
    if (header.empty()) {
      header = fields;
      continue;
    }
    CHECK(fields.size() == header.size());
    Row row;
    for (std::size_t i = 0; i < header.size() && i < fields.size(); ++i) row[header[i]] = fields[i];
    out.push_back(row);
  }
  return out;
}

inline double number(const Row& row, const char* column) { return row.at(column).empty() ? -1 : std::stod(row.at(column)); }

}  // namespace convoy::testing
