// ResNet v1 and v1.5: convolution, normalisation, ReLU, and a ReLU after the sum (He et al. 2016, "Deep
// Residual Learning"). Names and initial weights are torchvision's. Not v2 (pre_activation.hpp), not CIFAR's.
#pragma once

#include <convoy/sdk/model.hpp>

#include "stages.hpp"

namespace convoy::resnet {

/// images (N, C, H, W) -> logits (N, classes). `stride_in_3x3`: v1.5, the stride of a bottleneck stands in its
/// 3x3 convolution; false is the paper's v1, where it stands in the first 1x1. Blocks of two 3x3: no difference.
sdk::Var post_activation(sdk::Graph& g, sdk::Var images, const Stages& stages, bool stride_in_3x3,
                         int64_t classes);

}  // namespace convoy::resnet
