// VGG, layer by layer. torchvision's vgg.py is the source of names and initial weights: a layer's name is its place
// in a list that counts ReLUs and pools too.
#include "vgg.hpp"

#include <array>
#include <string>

namespace convoy::vgg {
namespace {

using sdk::Graph;
using sdk::Var;

constexpr std::array<int64_t, 5> kChannels{64, 128, 256, 512, 512};
constexpr const char* kFcInit = "normal(0, 0.01)";

/// Convolutions in each of the five blocks. Simonyan and Zisserman 2015, table 1: configurations A, B, D, E.
std::array<int, 5> blocks_of(int64_t depth) {
  switch (depth) {
    case 11: return {1, 1, 2, 2, 2};
    case 13: return {2, 2, 2, 2, 2};
    case 16: return {2, 2, 3, 3, 3};
    case 19: return {2, 2, 4, 4, 4};
    default:
      throw sdk::Error(Code::invalid, "depth = " + std::to_string(depth) + ": known are 11, 13, 16 and 19");
  }
}

}  // namespace

Vgg::Vgg(const Options& o)
    : depth_(sdk::get(o, "depth", 16)), bn_(sdk::get(o, "batch_norm", false)), dropout_(sdk::get(o, "dropout", 0.5)) {
  blocks_of(depth_);
}

Var Vgg::features(Graph& g, Var x) const {
  const auto blocks = blocks_of(depth_);
  int place = 0;
  const auto next = [&place] { return "features." + std::to_string(place++); };
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    const auto scope = g.scope("block" + std::to_string(b + 1));
    for (int i = 0; i < blocks[b]; ++i) {
      sdk::Conv c{kChannels[b], 3, 1, 1};
      c.bias = true;
      x = g.conv(x, next(), c);
      if (bn_) x = g.bn(x, next());
      x = g.relu(x, next());
    }
    x = g.max_pool(x, {2, 2}, next());
  }
  return x;
}

Var Vgg::classifier(Graph& g, Var x, int64_t classes) const {
  const auto scope = g.scope("classifier");
  x = g.flatten(g.adaptive_avg_pool(x, 7, "avgpool"), "flatten");
  for (const int first : {0, 3}) {  // linear, ReLU and dropout stand at three places in a row
    const std::string name = "classifier.";
    x = g.fc(x, name + std::to_string(first), 4096, {true, kFcInit, "zeros"});
    x = g.relu(x, name + std::to_string(first + 1));
    if (dropout_ > 0) x = g.dropout(x, dropout_, name + std::to_string(first + 2));
  }
  return g.fc(x, "classifier.6", classes, {true, kFcInit, "zeros"});
}

std::pair<Var, Var> Vgg::build(Graph& g, const ModelSpec& s) {
  const Var labels_in = labels(g, s);
  const Var out = classifier(g, features(g, images(g, s)), s.classes);
  return {g.xent(out, labels_in), out};
}

}  // namespace convoy::vgg

CONVOY_PLUGIN(model, convoy::vgg::Vgg, "vgg")
