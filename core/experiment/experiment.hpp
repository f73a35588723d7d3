// The checked experiment: what one TOML file means, with every default filled in.
// Knows the core's own tables and keys; what a plugin understands comes from its schema.
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
  int64_t epochs = 0;  // one of the two is 0; both where mode is evaluate
  int64_t steps = 0;
  int64_t seed = 1;
  double label_smoothing = 0;
  bool predictions = false;
  int64_t log_every = 0;               // steps; 0 = ten times an epoch
  int64_t evaluate_every_epochs = 1;   // 0 = at the end only
};

/// A plugin by name, with its options checked against its schema.
struct Choice {
  std::string use;
  Position at;  // of `use`
  OptionList options;
};

struct ModelChoice : Choice {
  int64_t classes = 0;  // 0 = as the data have
  int64_t image = 0;    // side in pixels, 0 = as the data have, else as the model was made for
  std::string weights;  // a safetensors file, "" = none
};

struct DeviceChoice : Choice {
  int64_t count = 1;
  std::vector<int64_t> ordinals;
  std::string precision = "fp32";
  std::string execution;  // "compiled", "stitched", "" = the device's own way
  bool deterministic = false;
  int64_t threads = 0;    // 0 = all cores
};

struct DataChoice : Choice {
  int64_t batch = 32;       // per replica
  int64_t train_limit = 0;  // first samples of the split only; 0 = all
  int64_t eval_limit = 0;
  std::string residency = "auto";       // auto, stream, host, device
  std::string remainder = "roll_over";  // roll_over, drop
  std::vector<double> mean;   // per channel, 0..1; empty = the data's own
  std::vector<double> stdev;  // key "std"
  bool shuffle = true;
  bool augment = true;
  int64_t workers = 0;  // reader threads, 0 = chosen
};

struct OptimizerOptions {
  std::string use = "sgd";
  double lr = 0.1;
  double momentum = 0.9;
  double dampening = 0;
  double weight_decay = 0;
  bool nesterov = false;
};

struct ScheduleChoice {
  std::string use = "constant";  // constant, step, cosine
  double warmup_epochs = 0;
  int64_t warmup_steps = 0;
  double warmup_start = 0;          // fraction of lr
  std::vector<double> milestones;   // step: epochs
  double every_epochs = 0;          // step: instead of milestones
  double gamma = 0.1;
  double final_lr = 0;              // cosine
};

struct CheckpointOptions {
  int64_t every_epochs = 1;  // 0 = at the end only
  int64_t keep_last = 3;     // 0 = all
};

struct ReportOptions {
  std::map<std::string, double> price_per_minute;  // by device name; "" = any
  std::string currency = "USD";
};

struct Experiment {
  RunOptions run;
  ModelChoice model;
  DeviceChoice device;
  std::optional<Choice> comm;
  std::optional<Choice> sync;
  DataChoice data;
  OptimizerOptions optimizer;
  ScheduleChoice schedule;
  CheckpointOptions checkpoint;
  ReportOptions report;
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

/// `assignment` is "optimizer.lr=0.05". The value is TOML, or else taken as a string. Errors: usage.
void apply_override(ConfigTable& config, const std::string& assignment);

/// Checks tables, keys and values, and fills in defaults. `name` is the run's name where the file gives none.
/// Errors: usage with position, what was written, what is known and the nearest; those of `schemas`.
Experiment make_experiment(const ConfigTable& config, const std::string& name, SchemaSource& schemas);

/// The experiment as a file that means the same and runs again: resolved.toml.
std::string to_toml(const Experiment& e);

}  // namespace convoy::experiment
