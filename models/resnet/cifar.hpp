// The ResNets for small pictures: 6n + 2 layers in three stages (He et al. 2016, "Deep Residual Learning",
// section 4.2). Names are those of the common PyTorch form (akamaster/pytorch_resnet_cifar10).
#pragma once

#include <convoy/sdk/model.hpp>

namespace convoy::resnet {

/// images (N, C, H, W) -> logits (N, classes). `blocks` of each stage: n.
sdk::Var cifar(sdk::Graph& g, sdk::Var images, int blocks, int64_t classes);

}  // namespace convoy::resnet
