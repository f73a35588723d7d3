// ResNet v2, unit by unit. MXNet's symbols/resnet.py (commit 699d1ce) is the source; an underscore before the
// leaf of its names is a dot here, and gamma, beta, moving_mean, moving_var are weight, bias, running_*.
#include "pre_activation.hpp"

#include <string>

namespace convoy::resnet {
namespace {

using sdk::Conv;
using sdk::Graph;
using sdk::Var;

constexpr double kEps = 2e-5;
constexpr const char* kInit = "xavier_gaussian_in(2)";

struct Unit {
  int64_t width;  // channels inside
  int64_t out;    // channels that leave
  int stride;
  bool project;
  bool bottleneck;
};

Var bn(Graph& g, Var x, const std::string& name) { return g.bn(x, name, {kEps}); }

Conv conv(int64_t out, int kernel, int stride, int pad) {
  Conv c{out, kernel, stride, pad};
  c.init = kInit;
  return c;
}

Var activated(Graph& g, Var x, const std::string& n, const char* k) {
  return g.relu(bn(g, x, n + "_bn" + k), n + "_relu" + k);
}

Var basic(Graph& g, Var first, const std::string& n, const Unit& u) {
  const Var y = g.conv(first, n + "_conv1", conv(u.width, 3, u.stride, 1));
  return g.conv(activated(g, y, n, "2"), n + "_conv2", conv(u.out, 3, 1, 1));
}

Var bottleneck(Graph& g, Var first, const std::string& n, const Unit& u) {
  Var y = g.conv(first, n + "_conv1", conv(u.width, 1, 1, 0));
  y = g.conv(activated(g, y, n, "2"), n + "_conv2", conv(u.width, 3, u.stride, 1));
  return g.conv(activated(g, y, n, "3"), n + "_conv3", conv(u.out, 1, 1, 0));
}

/// The projection takes the activated input and has no normalisation; nor has the sum.
Var unit(Graph& g, Var x, const std::string& n, const Unit& u) {
  const Var first = activated(g, x, n, "1");
  const Var y = u.bottleneck ? bottleneck(g, first, n, u) : basic(g, first, n, u);
  const Var shortcut = u.project ? g.conv(first, n + "_sc", conv(u.out, 1, u.stride, 0)) : x;
  return g.add(y, shortcut, n + "_plus");
}

Var stem(Graph& g, Var images) {
  const auto scope = g.scope("stem");
  sdk::BatchNorm fixed{kEps};
  fixed.train_gamma = false;
  Var x = g.bn(images, "bn_data", fixed);
  x = g.conv(x, "conv0", conv(64, 7, 2, 3));
  return g.max_pool(g.relu(bn(g, x, "bn0"), "relu0"), {3, 2, 1}, "pooling0");
}

Var head(Graph& g, Var x, int64_t classes) {
  const auto scope = g.scope("head");
  x = g.gap(g.relu(bn(g, x, "bn1"), "relu1"), "pool1");
  return g.fc(x, "fc1", classes, {true, kInit, "zeros"});
}

}  // namespace

Var pre_activation(Graph& g, Var images, const Stages& stages, int64_t classes) {
  Var x = stem(g, images);
  for (std::size_t s = 0; s < stages.blocks.size(); ++s) {
    const std::string stage = "stage" + std::to_string(s + 1);
    const auto scope = g.scope(stage);
    for (int i = 0; i < stages.blocks[s]; ++i) {
      const int stride = s > 0 && i == 0 ? 2 : 1;
      x = unit(g, x, stage + "_unit" + std::to_string(i + 1),
               {Stages::width(s), stages.channels(s), stride, i == 0, stages.bottleneck});
    }
  }
  return head(g, x, classes);
}

}  // namespace convoy::resnet
