// The experiment's network on small pictures: what gates compare between devices, and where running statistics come from.
// Not what is measured.
#pragma once

#include "experiment/experiment.hpp"
#include "plugin/registry.hpp"
#include "train/replica.hpp"

#include <map>
#include <string>
#include <vector>

namespace convoy::train {

struct SmallNetwork {
  ModelSpec spec{};
  StepGraph graph;
};

/// Two pictures, of the smallest size from 64 pixels on at which the network can be built and normalises over enough values, or
/// the experiment's own if that is smaller. Errors: those of the model.
SmallNetwork build_small(IModel& model, const experiment::Experiment& e, plugin::Host& host, bool training);

/// Values of a program by name.
using NamedValues = std::map<std::string, std::vector<float>>;

/// Running statistics of a network with random weights, from training steps without learning on its own device in fp32.
/// With the statistics that training begins with, deep residual networks overflow 16-bit floats, and a benchmark would compute
/// with numbers of no size that occurs. Empty where the experiment loads weights or nothing is normalised.
/// Errors: those of the device.
NamedValues settled_statistics(const experiment::Experiment& e, plugin::Registry& registry, plugin::Host& host);

/// Sets those of them that the program has, and refreshes it.
void set_statistics(exec::Program& program, const ir::Graph& graph, const NamedValues& statistics, const exec::Device& device);

}  // namespace convoy::train
