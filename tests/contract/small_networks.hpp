// Two small networks that between them use most of the catalogue, and the machinery to train them on a device or in
// double. Not models of the product: shapes are chosen to be awkward and quick.
#pragma once

#include "exec/program.hpp"
#include "interpreter.hpp"
#include "train/step_graph.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace convoy::contract {

enum class Network {
  plain,     // u8 pictures, convolutions with bias, max and average pooling, LRN, dropout, two linear layers
  residual,  // batch normalisation, projection and padded identity shortcuts, branches joined, two loss heads
};
const char* name_of(Network n);

constexpr uint32_t kBatch = 4;
constexpr uint32_t kClasses = 7;

/// The graph of a training step (SGD with momentum and weight decay), or of inference.
train::StepGraph make_graph(Network n, bool training);

/// What goes in at one step; the same numbers on every device.
struct StepData {
  StepData(const train::StepGraph& g, uint64_t step);
  std::vector<uint8_t> images;  // bytes of the stored type
  std::vector<int32_t> labels;  // one of the last step's does not count
  float lr = 0.05f;
  float scale = 1;
  std::vector<int64_t> rng;
};

struct StepOutcome {
  double loss = 0;
  int32_t top1 = 0;
  int32_t top5 = 0;
};

/// Named values after some steps: parameters, optimiser state, running statistics.
using Named = std::map<std::string, std::vector<double>>;

/// The graph in double.
class DoubleRun {
 public:
  DoubleRun(const train::StepGraph& g, const Named* values);  // null: initial values
  StepOutcome step(const StepData& data);
  Named values() ;
  std::vector<double> logits() { return run_.copy(graph_.logits); }

 private:
  const train::StepGraph& graph_;
  ir::FlatGraph flat_;
  reference::Interpreter run_;
};

/// The graph on a device. Parameters are in `store`, which another run may share.
class DeviceRun {
 public:
  DeviceRun(const exec::Device& device, const std::string& execution, const train::StepGraph& g, exec::ParameterStore& store);
  void set_initial_values();
  void refresh() { program_.refresh(stream_.get()); }
  /// Enqueues the copies, the step and the read-back, and waits. Allocates nothing itself.
  StepOutcome step(const StepData& data, uint64_t number);
  Named values();
  std::vector<double> logits();
  const exec::Program& program() const { return program_; }

 private:
  const exec::Device& device_;
  const train::StepGraph& graph_;
  exec::DeviceStream stream_;
  exec::DeviceEvent done_;
  exec::Program program_;
};

}  // namespace convoy::contract
