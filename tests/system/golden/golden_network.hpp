// A model, filled as the golden files say and made runnable on one device: what a golden test runs.
#pragma once

#include "golden_file.hpp"

#include "exec/program.hpp"
#include "exec/worker_pool.hpp"
#include "experiment/schema.hpp"
#include "plugin/host.hpp"
#include "plugin/registry.hpp"
#include "train/step_graph.hpp"

#include <memory>
#include <string>

namespace convoy::testing {

/// CONVOY_TEST_DEVICE, "cpu" where that is not set.
std::string device_under_test();

/// Plugins of the build tree, and the device that the tests run on.
class GoldenBench {
 public:
  explicit GoldenBench(const std::string& device = device_under_test());
  plugin::Host& host() { return host_; }
  plugin::Registry& registry() { return registry_; }
  const exec::Device& device() { return *device_; }

 private:
  record::SilentLog log_;
  plugin::Host host_;
  plugin::Registry registry_;
  std::unique_ptr<exec::WorkerPool> workers_;
  std::unique_ptr<exec::Device> device_;
};

/// One form (training or inference) of the file's network with its own memory.
class GoldenNetwork {
 public:
  GoldenNetwork(GoldenBench& bench, const GoldenFile& golden, const std::string& model, const experiment::OptionList& options,
                bool training);

  /// Sets every parameter, buffer, input and label by the fill rule, and optimiser state to zero.
  void fill();
  void set_scalars(float lr);
  void run();
  float scalar(Value v);
  std::vector<float> values(Value v);
  /// A boundary value by name; kNoValue where there is none.
  Value find(const std::string& name) const;
  const train::StepGraph& graph() const { return graph_; }

 private:
  void write(Value v, const void* data, uint64_t bytes);

  GoldenBench& bench_;
  const GoldenFile& golden_;
  Owned<IModel> model_;
  train::StepGraph graph_;
  exec::ParameterStore store_;
  std::unique_ptr<exec::Program> program_;
  exec::DeviceStream stream_;
  uint64_t step_ = 0;
};

}  // namespace convoy::testing
