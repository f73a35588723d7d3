// ResNet v1 and v1.5, block by block. torchvision's resnet.py is the source of names and initial weights.
#include "post_activation.hpp"

#include <string>

namespace convoy::resnet {
namespace {

using sdk::Graph;
using sdk::Var;

struct Block {
  int64_t width;     // channels inside
  int64_t out;       // channels that leave
  int stride;
  bool project;      // the shortcut is a 1x1 convolution
  bool bottleneck;
  bool stride_in_3x3;
};

Var basic(Graph& g, Var x, const std::string& n, const Block& b) {
  Var y = g.relu(g.bn(g.conv(x, n + ".conv1", {b.width, 3, b.stride, 1}), n + ".bn1"), n + ".relu1");
  return g.bn(g.conv(y, n + ".conv2", {b.out, 3, 1, 1}), n + ".bn2");
}

Var bottleneck(Graph& g, Var x, const std::string& n, const Block& b) {
  const int first = b.stride_in_3x3 ? 1 : b.stride;
  const int second = b.stride_in_3x3 ? b.stride : 1;
  Var y = g.relu(g.bn(g.conv(x, n + ".conv1", {b.width, 1, first, 0}), n + ".bn1"), n + ".relu1");
  y = g.relu(g.bn(g.conv(y, n + ".conv2", {b.width, 3, second, 1}), n + ".bn2"), n + ".relu2");
  return g.bn(g.conv(y, n + ".conv3", {b.out, 1, 1, 0}), n + ".bn3");
}

Var block(Graph& g, Var x, const std::string& n, const Block& b) {
  const Var y = b.bottleneck ? bottleneck(g, x, n, b) : basic(g, x, n, b);
  if (b.project)
    x = g.bn(g.conv(x, n + ".downsample.0", {b.out, 1, b.stride, 0}), n + ".downsample.1");
  return g.relu(g.add(y, x, n + ".add"), n + ".relu");
}

Var stem(Graph& g, Var images) {
  const auto scope = g.scope("stem");
  const Var x = g.relu(g.bn(g.conv(images, "conv1", {64, 7, 2, 3}), "bn1"), "relu");
  return g.max_pool(x, {3, 2, 1}, "maxpool");
}

}  // namespace

Var post_activation(Graph& g, Var images, const Stages& stages, bool stride_in_3x3, int64_t classes) {
  Var x = stem(g, images);
  int64_t channels = 64;
  for (std::size_t s = 0; s < stages.blocks.size(); ++s) {
    const std::string layer = "layer" + std::to_string(s + 1);
    const auto scope = g.scope(layer);
    for (int i = 0; i < stages.blocks[s]; ++i) {
      const int stride = s > 0 && i == 0 ? 2 : 1;
      const int64_t out = stages.channels(s);
      const bool project = stride != 1 || channels != out;
      x = block(g, x, layer + "." + std::to_string(i),
                {Stages::width(s), out, stride, project, stages.bottleneck, stride_in_3x3});
      channels = out;
    }
  }
  const auto scope = g.scope("head");
  return g.fc(g.gap(x, "avgpool"), "fc", classes);
}

}  // namespace convoy::resnet
