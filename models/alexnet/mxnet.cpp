// AlexNet `mxnet`, layer by layer. MXNet's symbols/alexnet.py (commit 699d1ce) is the source; its names get a dot
// before the leaf. It is trained from normal weights: its authors say that it does not converge from Xavier's.
#include "mxnet.hpp"

#include <string>

namespace convoy::alexnet {
namespace {

using sdk::Graph;
using sdk::Var;

constexpr const char* kInit = "normal(0, 0.01)";

Var conv(Graph& g, Var x, const std::string& number, sdk::Conv c) {
  c.bias = true;
  c.init = kInit;
  return g.relu(g.conv(x, "conv" + number, c), "relu" + number);
}

/// Normalised first, then pooled.
Var normalised_and_pooled(Graph& g, Var x, const std::string& number) {
  return g.max_pool(g.lrn(x, {5, 1e-4, 0.75, 2}, "norm" + number), {3, 2}, "pool" + number);
}

Var features(Graph& g, Var x) {
  const auto scope = g.scope("features");
  x = normalised_and_pooled(g, conv(g, x, "1", {96, 11, 4, 0}), "1");
  x = normalised_and_pooled(g, conv(g, x, "2", {256, 5, 1, 2}), "2");
  x = conv(g, x, "3", {384, 3, 1, 1});
  x = conv(g, x, "4", {384, 3, 1, 1});
  return g.max_pool(conv(g, x, "5", {256, 3, 1, 1}), {3, 2}, "pool3");
}

}  // namespace

Var mxnet(Graph& g, Var images, int64_t classes, double dropout) {
  Var x = features(g, images);
  const auto scope = g.scope("classifier");
  x = g.flatten(x, "flatten");
  const sdk::Fc layer{true, kInit, "zeros"};
  for (const std::string number : {"1", "2"}) {
    x = g.relu(g.fc(x, "fc" + number, 4096, layer), "relu_fc" + number);
    if (dropout > 0) x = g.dropout(x, dropout, "dropout" + number);
  }
  return g.fc(x, "fc3", classes, layer);
}

}  // namespace convoy::alexnet
