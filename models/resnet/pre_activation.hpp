// ResNet v2: normalisation and ReLU come before each convolution (He et al. 2016, "Identity Mappings"), in the
// form, with the names and the initial weights of MXNet's symbols/resnet.py.
#pragma once

#include <convoy/sdk/model.hpp>

#include "stages.hpp"

namespace convoy::resnet {

/// images (N, C, H, W) -> logits (N, classes). The first node normalises the images with a scale fixed at 1, so
/// they may come as raw 0..255.
sdk::Var pre_activation(sdk::Graph& g, sdk::Var images, const Stages& stages, int64_t classes);

}  // namespace convoy::resnet
