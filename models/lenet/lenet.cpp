// The model plugin `lenet`, layer by layer. Shapes at the right are those of 28 x 28 pictures.
#include "lenet.hpp"

#include <string>

namespace convoy::lenet {
namespace {

using sdk::Graph;
using sdk::Var;

constexpr uint32_t kSmallest = 16;                     // pixels; the second convolution then still sees 4 x 4
constexpr const char* kInit = "kaiming_normal_fan_in";  // ReLU and no normalisation: keep the forward variance

/// A 5x5 convolution, ReLU, and a 2x2 maximum.
Var stage(Graph& g, Var x, const std::string& name, int64_t out, int pad) {
  const Var y = g.conv(x, name, {out, 5, 1, pad, 1, true, kInit});
  return g.max_pool(g.relu(y), {2, 2});
}

}  // namespace

Lenet::Lenet(const Options& o) : width_(sdk::get(o, "width", 16)) {}

std::pair<Var, Var> Lenet::build(Graph& g, const ModelSpec& s) {
  if (s.height < kSmallest || s.width < kSmallest)
    throw sdk::Error(Code::invalid, "lenet takes pictures of at least 16 x 16 pixels, not " +
                                        std::to_string(s.height) + " x " + std::to_string(s.width));
  Var x = images(g, s);                                     // (N, C, 28, 28)
  x = stage(g, x, "conv1", width_, 2);                      // (N, w, 14, 14)
  x = stage(g, x, "conv2", 2 * width_, 0);                  // (N, 2w, 5, 5)
  x = g.fc(g.flatten(x), "fc1", 8 * width_, {true, kInit, "zeros"});  // (N, 8w)
  const Var logits = g.fc(g.relu(x), "fc2", s.classes);     // (N, classes)
  return {g.xent(logits, labels(g, s)), logits};
}

}  // namespace convoy::lenet

CONVOY_PLUGIN(model, convoy::lenet::Lenet, "lenet")
