// The CIFAR ResNets, block by block. Initial weights as in akamaster/pytorch_resnet_cifar10: Kaiming normal over
// the inputs, for the last layer too.
#include "cifar.hpp"

#include <string>

namespace convoy::resnet {
namespace {

using sdk::Conv;
using sdk::Graph;
using sdk::Var;

constexpr const char* kInit = "kaiming_normal_fan_in";

Var conv3x3(Graph& g, Var x, const std::string& name, int64_t out, int stride) {
  Conv c{out, 3, stride, 1};
  c.init = kInit;
  return g.conv(x, name, c);
}

/// Option A, which has no weights: every second row and column, and zero channels around the old ones, a
/// quarter of the new count before and a quarter after. A pool of window 1 is that subsampling, exactly.
Var shortcut(Graph& g, Var x, const std::string& n, int64_t out) {
  const Var y = g.avg_pool(x, {1, 2}, n + ".subsample");
  const TensorDesc s = g.shape(y);
  const int64_t before = (out - s.dim[1]) / 2;
  const int64_t after = out - s.dim[1] - before;
  const Var zeros_before = g.fill({s.dim[0], before, s.dim[2], s.dim[3]}, 0, n + ".zeros_before");
  const Var zeros_after = g.fill({s.dim[0], after, s.dim[2], s.dim[3]}, 0, n + ".zeros_after");
  return g.concat({zeros_before, y, zeros_after}, n + ".shortcut");
}

Var block(Graph& g, Var x, const std::string& n, int64_t out, int stride) {
  Var y = g.relu(g.bn(conv3x3(g, x, n + ".conv1", out, stride), n + ".bn1"), n + ".relu1");
  y = g.bn(conv3x3(g, y, n + ".conv2", out, 1), n + ".bn2");
  if (stride != 1) x = shortcut(g, x, n, out);
  return g.relu(g.add(y, x, n + ".add"), n + ".relu");
}

Var stem(Graph& g, Var images) {
  const auto scope = g.scope("stem");
  return g.relu(g.bn(conv3x3(g, images, "conv1", 16, 1), "bn1"), "relu");
}

}  // namespace

Var cifar(Graph& g, Var images, int blocks, int64_t classes) {
  Var x = stem(g, images);
  for (int s = 0; s < 3; ++s) {
    const std::string layer = "layer" + std::to_string(s + 1);
    const auto scope = g.scope(layer);
    for (int i = 0; i < blocks; ++i)
      x = block(g, x, layer + "." + std::to_string(i), int64_t{16 << s}, s > 0 && i == 0 ? 2 : 1);
  }
  const auto scope = g.scope("head");
  return g.fc(g.gap(x, "avgpool"), "linear", classes, {true, kInit, ""});
}

}  // namespace convoy::resnet
