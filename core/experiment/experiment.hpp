// The checked experiment: what one TOML file means, with every default filled in.
// Knows the core's own tables and keys; what a plugin understands comes from its schema. Relative paths in it are kept as
// written and count from the current directory, so resolved.toml runs again from where the first run was started.
#pragma once

#include "experiment/config_value.hpp"
#include "experiment/schema.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace convoy::experiment {

enum class Mode { train, evaluate, benchmark };

struct RunOptions {
  std::string name;  // default: the file's stem
  Mode mode = Mode::train;
  int64_t epochs = 0;  // one of the two is 0; both where mode is not train
  int64_t steps = 0;
  int64_t seed = 1;
  double label_smoothing = 0;
  bool predictions = false;
  int64_t log_every = 0;               // steps; 0 = ten times an epoch
  int64_t evaluate_every_epochs = 1;   // 0 = at the end only
  bool operator==(const RunOptions&) const = default;
};

/// A plugin by name, with its options checked against its schema. Equal where they mean the same, wherever written.
struct Choice {
  std::string use;
  Position at;  // of `use`
  OptionList options;
  bool operator==(const Choice& o) const { return use == o.use && options == o.options; }
};

struct ModelChoice : Choice {
  int64_t classes = 0;  // 0 = as the data have
  int64_t image = 0;    // side in pixels, 0 = as the data have, else as the model was made for
  std::string weights;  // a safetensors file, "" = none
  bool operator==(const ModelChoice&) const = default;
};

struct DeviceChoice : Choice {
  int64_t count = 1;
  std::vector<int64_t> ordinals;
  std::string precision = "fp32";
  std::string execution;  // "compiled", "stitched", "" = the device's own way
  bool deterministic = false;
  int64_t threads = 0;    // 0 = all cores
  bool operator==(const DeviceChoice&) const = default;
};

/// An emulated link between replicas: what is slower than it stays as it is.
struct Link {
  std::string bandwidth;     // as written: "10Gbit"; "" = unlimited
  std::string latency;       // as written: "50us"; "" = none added
  double bits_per_s = 0;     // 0 = unlimited
  double latency_s = 0;
  bool operator==(const Link&) const = default;
};

struct CommChoice : Choice {
  std::optional<Link> link;
  bool operator==(const CommChoice&) const = default;
};

struct DataChoice : Choice {
  int64_t batch = 32;       // per replica
  int64_t train_limit = 0;  // first samples of the split only; 0 = all
  int64_t eval_limit = 0;
  std::string residency = "auto";       // auto, real, host, device
  std::string remainder = "roll_over";  // roll_over, drop
  std::vector<double> mean;   // per channel, 0..1; empty = the data's own
  std::vector<double> stdev;  // key "std"
  bool shuffle = true;
  bool augment = true;
  int64_t workers = 0;  // reader threads, 0 = chosen
  bool operator==(const DataChoice&) const = default;
};

struct OptimizerOptions {
  std::string use = "sgd";
  double lr = 0.1;
  double momentum = 0.9;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
  bool operator==(const OptimizerOptions&) const = default;
};

struct ScheduleChoice {
  std::string use = "constant";  // constant, step, cosine
  double warmup_epochs = 0;  // one of the two is 0
  int64_t warmup_steps = 0;
  double warmup_start = 0;          // fraction of lr
  std::vector<double> milestones;   // step: epochs
  double every_epochs = 0;          // step: instead of milestones
  double gamma = 0.1;
  double final_lr = 0;              // cosine
  bool operator==(const ScheduleChoice&) const = default;
};

struct CheckpointOptions {
  int64_t every_epochs = 1;  // 0 = at the end only
  int64_t keep_last = 3;     // 0 = all
  bool operator==(const CheckpointOptions&) const = default;
};

struct ReportOptions {
  std::map<std::string, double> price_per_minute;  // by device name; "" alone = any
  std::string currency = "USD";
  bool operator==(const ReportOptions&) const = default;
};

/// For mode = "benchmark"; in the other modes it is checked, and means nothing.
struct BenchmarkOptions {
  std::string pass = "train";  // train, inference
  int64_t warmup_steps = 20;
  int64_t steps = 100;
  int64_t repeats = 5;
  double seconds = 0;  // a repeat ends after this long, though not before a few steps; 0 = no limit
  bool operator==(const BenchmarkOptions&) const = default;
};

struct Experiment {
  RunOptions run;
  ModelChoice model;
  DeviceChoice device;
  std::optional<CommChoice> comm;
  std::optional<Choice> sync;
  DataChoice data;
  OptimizerOptions optimizer;
  ScheduleChoice schedule;
  CheckpointOptions checkpoint;
  ReportOptions report;
  std::optional<BenchmarkOptions> benchmark;  // always there where mode is benchmark
  bool operator==(const Experiment&) const = default;
};

/// Where schemas come from: the registry of plugins, or a fake in a test.
class SchemaSource {
 public:
  virtual ~SchemaSource() = default;
  /// kind: "model", "device", "comm", "sync", "data". Errors: plugin P101 and others where there is no such plugin.
  /// For a device, `use` is never "auto".
  virtual std::string schema(const std::string& kind, const std::string& use, const Position& at) = 0;
  /// The device that "auto" stands for.
  virtual std::string auto_device() = 0;
};

/// `assignment` is "optimizer.lr=0.05"; parts of the key may be quoted. The value is TOML, or else taken as a string: see
/// parse_override_value. The key is checked later, by make_experiment, which calls its position "--set optimizer.lr".
/// Errors: usage; `config` is then unchanged, but for empty tables on the way to the key.
void apply_override(ConfigTable& config, const std::string& assignment);

/// Checks tables, keys and values, and fills in defaults. `name` is the run's name where the file gives none.
/// Errors: usage with position, what was written, what is known and the nearest; those of `schemas`.
Experiment make_experiment(const ConfigTable& config, const std::string& name, SchemaSource& schemas);

/// The [model] table alone, as make_experiment reads it. Errors: as there.
ModelChoice make_model_choice(const ConfigTable& config, SchemaSource& schemas);

/// The experiment as a file that means the same and runs again: resolved.toml. Floats are written so that they read back
/// as the same floats.
std::string to_toml(const Experiment& e);

}  // namespace convoy::experiment
