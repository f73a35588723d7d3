// AlexNet as torchvision has it: no response normalisation, no groups. Krizhevsky 2014 ("One weird trick").
#pragma once

#include <convoy/sdk/graph.hpp>

namespace convoy::alexnet {

/// images (N, C, H, W) -> logits (N, classes). dropout 0 = none.
sdk::Var owt(sdk::Graph& g, sdk::Var images, int64_t classes, double dropout);

}  // namespace convoy::alexnet
