// AlexNet `owt`, layer by layer. torchvision's alexnet.py is the source: a layer's name is its place in a list that
// counts ReLUs, pools and dropouts too; initial weights are PyTorch's defaults.
#include "owt.hpp"

#include <string>

namespace convoy::alexnet {
namespace {

using sdk::Graph;
using sdk::Var;

/// Convolution and ReLU at places `place` and `place + 1`.
Var conv(Graph& g, Var x, int place, sdk::Conv c) {
  const int64_t fan_in = g.shape(x).dim[1] * c.kernel.h * c.kernel.w;
  c.bias = true;
  c.init = "torch_default";
  c.bias_init = "torch_default_bias(" + std::to_string(fan_in) + ")";
  const std::string name = "features.";
  return g.relu(g.conv(x, name + std::to_string(place), c), name + std::to_string(place + 1));
}

Var features(Graph& g, Var x) {
  const auto scope = g.scope("features");
  x = g.max_pool(conv(g, x, 0, {64, 11, 4, 2}), {3, 2}, "features.2");
  x = g.max_pool(conv(g, x, 3, {192, 5, 1, 2}), {3, 2}, "features.5");
  x = conv(g, x, 6, {384, 3, 1, 1});
  x = conv(g, x, 8, {256, 3, 1, 1});
  return g.max_pool(conv(g, x, 10, {256, 3, 1, 1}), {3, 2}, "features.12");
}

}  // namespace

Var owt(Graph& g, Var images, int64_t classes, double dropout) {
  const auto dropped = [&](Var x, const char* name) { return dropout > 0 ? g.dropout(x, dropout, name) : x; };
  Var x = features(g, images);
  const auto scope = g.scope("classifier");
  x = g.flatten(g.adaptive_avg_pool(x, 6, "avgpool"), "flatten");
  x = g.relu(g.fc(dropped(x, "classifier.0"), "classifier.1", 4096), "classifier.2");
  x = g.relu(g.fc(dropped(x, "classifier.3"), "classifier.4", 4096), "classifier.5");
  return g.fc(x, "classifier.6", classes);
}

}  // namespace convoy::alexnet
