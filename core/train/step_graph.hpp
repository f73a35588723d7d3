// Builds the graph of a training step or of an evaluation from a model: forward, gradients, update, outputs.
// No device is involved, and nothing is decided here about how the graph will be computed.
#pragma once

#include "ir/autodiff.hpp"
#include "ir/graph.hpp"
#include "plugin/host.hpp"
#include "train/optimizer.hpp"

#include <convoy/abi.hpp>

#include <array>
#include <string>

namespace convoy::train {

/// The stored images and how they become what the model sees: (x - mean) / stdev per channel.
struct ImageSource {
  DType stored = DType::f32;  // u8, or f32 taken as it is
  std::array<float, 4> mean{};
  std::array<float, 4> stdev{1, 1, 1, 1};
};

struct StepGraphRequest {
  ModelSpec spec{};  // complete: no zeros; `training` chooses the form
  ImageSource images;
  double label_smoothing = 0;  // training only
  SgdOptions optimizer;        // training only
};

/// Values by what the loop does with them. kNoValue where the form has none.
struct StepGraph {
  ir::Graph graph;
  Value images = kNoValue;   // boundary input, of the stored type
  Value labels = kNoValue;   // i32, -1 = does not count
  Value loss = kNoValue;     // f32[], the model's loss
  Value top1 = kNoValue;     // i32[], of the loss head that `logits` feeds
  Value top5 = kNoValue;
  Value logits = kNoValue;   // f32 (batch, classes)
  Value lr = kNoValue;       // f32[] scalar; training
  Value scale = kNoValue;    // f32[] scalar, multiplies every gradient; training
  Value rng = kNoValue;      // i64[4] scalar; where the model has dropout
  ir::Gradients gradients;   // training
};

/// The number of the error that says that a model has nothing to train.
inline constexpr const char* kNoGradient = "P505";

/// Errors: the model's own, with its words; plugin, where it breaks its contract (no loss, logits of the wrong
/// shape, a loss that does not depend on any parameter); bug, where the finished graph does not verify.
StepGraph build_step_graph(IModel& model, const std::string& model_name, const StepGraphRequest& request,
                           plugin::Host& host);

}  // namespace convoy::train
