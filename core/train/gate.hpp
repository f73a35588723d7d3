// The gates of one replica: what must hold before a benchmark may print a number. Nothing is measured here.
//
//   training    loss and gradients finite; every trained parameter has a gradient; the loss falls and rises along the
//               gradient as the gradient says (central difference, the configuration itself); parameters change in a step
//   inference   logits finite; equal to those of the same network with every intermediate value kept, so that nothing can
//               be fused or folded (the configuration's own image size, up to two images)
//   both        on a small instance: loss and gradients, or logits, and the update agree with another device, the oracle
//
// A wrong gradient could agree with itself along its own direction where only parts are missing: the oracle sees those.
#pragma once

#include "error.hpp"
#include "experiment/experiment.hpp"
#include "plugin/registry.hpp"
#include "train/small_instance.hpp"

#include <string>

namespace convoy::train {

/// A check that did not hold; its text is what the row says.
class GateFailed : public Error {
 public:
  explicit GateFailed(const std::string& why) : Error(ErrorKind::numerics, why) {}
};

/// Of relative errors, by precision. On one side is what correct arithmetic gives: where a ReLU input or a pooling window is a
/// near tie, rounding chooses, and batch normalisation with the statistics of a few small pictures magnifies it: in fp32
/// gradients of ResNet-50 are typically off by 1e-2 and of ResNet-152 by 0.1, without batch normalisation by 1e-6; in bf16
/// single ones by up to 0.5. On the other side is a wrong kernel: half, double and missing are off by 0.5 to 1 for each
/// parameter behind it.
struct GateTolerance {
  double slope;     // of the loss along the gradient
  double typical;   // median over parameters of their gradients' and updates' errors, in the Euclidean norm
  double each;      // of any one of them
  double floor;     // below this part of the whole gradient's norm, a parameter's gradient is rounding
  double logits;    // in the Euclidean norm; a small factor above the unit of rounding that hardly grows with depth
};
GateTolerance gate_tolerance(const std::string& precision, const ir::Graph& graph);

/// On the replica's own configuration; its parameters are reset at the end. Says what was found: "slope 0.1 %".
/// Errors: GateFailed; those of the device.
std::string check_training(const experiment::Experiment& e, Replica& replica);
/// The replica has these statistics already.
std::string check_inference(const experiment::Experiment& e, Replica& replica, const NamedValues& statistics, plugin::Host& host);

/// A small instance of the experiment's model on its device and on the oracle, a device plugin of that name.
/// Errors: GateFailed; those of the devices.
std::string check_against(const std::string& oracle, const experiment::Experiment& e, const NamedValues& statistics, plugin::Registry& registry,
                          plugin::Host& host);

}  // namespace convoy::train
