// [sweep]: one file that stands for many experiments, one for each combination of its axes' values.
// Works on parsed files, before any key is checked; running the points is core/train's affair.
#pragma once

#include "experiment/config_value.hpp"

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace convoy::experiment {

constexpr std::size_t kMostPoints = 10'000;

/// One combination: the file without [sweep], and with one value of every axis.
struct SweepPoint {
  std::string label;  // "model.use=resnet model.depth=50 data.batch=4"; "" where nothing is swept
  ConfigTable config;
};

/// `assignment` is "data.batch=1,2,4", or a TOML list behind the '='. Replaces an axis of the file, or adds one.
/// Errors: usage.
void apply_sweep(ConfigTable& config, const std::string& assignment);

/// The combinations of a file, made one at a time: a file is small, ten thousand copies of it are not.
/// Cartesian, in the order in which the axes are written, the last one varying fastest. An axis is a key ("data.batch") or a
/// table ("model"), and then its values are tables whose keys are put over those that the file's table has; one that names
/// another plugin (`use`) replaces it.
class Sweep {
 public:
  /// Borrows the file. Errors: usage: no list, an empty one, an axis or a value twice, more than kMostPoints.
  explicit Sweep(const ConfigTable& config);

  /// Whether nothing is swept: one point without a label.
  bool empty() const { return axes_.empty(); }
  std::size_t size() const { return size_; }
  /// Errors: usage, where an axis does not fit the file.
  SweepPoint point(std::size_t i) const;
  /// The top-level tables that an axis changes.
  std::set<std::string> tables() const;

 private:
  struct Axis {
    std::vector<std::string> path;
    const ConfigArray* values;
  };
  void collect(const ConfigTable& table, const std::vector<std::string>& prefix);

  const ConfigTable& config_;
  std::vector<Axis> axes_;
  std::size_t size_ = 1;
};

/// The file as TOML text, comments lost.
std::string to_toml(const ConfigTable& config);

/// A sweep's resolved.toml: every default filled in, but for tables that an axis changes, which stay as written.
/// `first`: to_toml() of the first point's experiment.
std::string resolved_sweep(const ConfigTable& config, const std::string& first);

}  // namespace convoy::experiment
