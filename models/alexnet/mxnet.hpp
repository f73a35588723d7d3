// AlexNet as MXNet has it: Krizhevsky 2012 on one device (no groups), with response normalisation.
#pragma once

#include <convoy/sdk/graph.hpp>

namespace convoy::alexnet {

/// images (N, C, H, W) -> logits (N, classes). dropout 0 = none.
sdk::Var mxnet(sdk::Graph& g, sdk::Var images, int64_t classes, double dropout);

}  // namespace convoy::alexnet
