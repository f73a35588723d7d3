// One replica put together from an experiment: device, data, model, graphs, programs, parameters.
// Does not run steps and writes no files.
#pragma once

#include "exec/program.hpp"
#include "exec/worker_pool.hpp"
#include "experiment/experiment.hpp"
#include "plugin/registry.hpp"
#include "train/batch_feed.hpp"
#include "train/step_graph.hpp"
#include "train/trainer.hpp"

#include <memory>
#include <optional>
#include <string>

namespace convoy::train {

/// Owns everything it makes. `registry` and `host` outlive it. Threads: main to construct, then the replica's.
/// Errors: those of plugins; usage, where experiment, model, data and device do not fit together.
class Replica {
 public:
  Replica(const experiment::Experiment& e, plugin::Registry& registry, plugin::Host& host);
  ~Replica();
  Replica(const Replica&) = delete;
  Replica& operator=(const Replica&) = delete;

  const exec::Device& device() const { return *device_; }
  const OpenDataset& data() const { return data_; }
  const ModelSpec& spec() const { return spec_; }
  /// Program null where the mode has no training, or there is nothing to evaluate on.
  Runnable train() const { return {train_program_.get(), &train_graph_}; }
  Runnable eval() const { return {eval_program_.get(), &eval_graph_}; }
  /// The one that holds the weights: training where there is one.
  exec::Program& weights_program() const { return train_program_ ? *train_program_ : *eval_program_; }
  uint64_t device_bytes() const;
  uint64_t train_samples() const { return train_samples_; }
  uint64_t eval_samples() const { return eval_samples_; }
  uint32_t threads() const { return threads_; }
  IModel& model() const { return *model_; }
  const ImageSource& images() const { return images_; }
  /// As they were when this was made: weights loaded, else initial values.
  void reset_parameters(const experiment::Experiment& e);

 private:
  void open_data(const experiment::Experiment& e);
  void build(const experiment::Experiment& e);

  plugin::Registry& registry_;
  plugin::Host& host_;
  uint32_t threads_ = 1;
  std::unique_ptr<exec::WorkerPool> workers_;
  std::unique_ptr<exec::Device> device_;
  Owned<IDataset> dataset_;
  Owned<IModel> model_;
  OpenDataset data_;
  ModelSpec spec_{};
  ImageSource images_;
  uint64_t train_samples_ = 0;
  uint64_t eval_samples_ = 0;
  std::unique_ptr<exec::ParameterStore> store_;
  StepGraph train_graph_;
  StepGraph eval_graph_;
  std::unique_ptr<exec::Program> train_program_;
  std::unique_ptr<exec::Program> eval_program_;
};

/// What steps of this precision compute in.
DType precision_type(const std::string& precision);

/// How the graph of `spec` is asked for.
StepGraphRequest step_request(const experiment::Experiment& e, const ModelSpec& spec, const ImageSource& images, bool training);

/// Weights from the experiment's file, else initial values of its seed; optimiser state begins anew either way.
void fill_parameters(exec::Program& program, const ir::Graph& graph, const experiment::Experiment& e, Stream stream);

/// The device that an experiment names. Errors: those of the plugin; usage, where it lacks the precision or the ordinal.
std::unique_ptr<exec::Device> open_device(const experiment::Experiment& e, plugin::Registry& registry, plugin::Host& host);

}  // namespace convoy::train
