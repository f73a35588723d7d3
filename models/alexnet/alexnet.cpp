// The model plugin `alexnet`: choice of the network by variant.
#include "alexnet.hpp"

#include "mxnet.hpp"
#include "owt.hpp"

namespace convoy::alexnet {

Alexnet::Alexnet(const Options& o) : variant_(sdk::get(o, "variant", "owt")), dropout_(sdk::get(o, "dropout", 0.5)) {
  if (variant_ != "owt" && variant_ != "mxnet")
    throw sdk::Error(Code::invalid, "variant = \"" + variant_ + "\": known are \"owt\" and \"mxnet\"");
}

std::pair<sdk::Var, sdk::Var> Alexnet::build(sdk::Graph& g, const ModelSpec& s) {
  const sdk::Var labels_in = labels(g, s), x = images(g, s);
  const sdk::Var out = variant_ == "mxnet" ? mxnet(g, x, s.classes, dropout_) : owt(g, x, s.classes, dropout_);
  return {g.xent(out, labels_in), out};
}

}  // namespace convoy::alexnet

CONVOY_PLUGIN(model, convoy::alexnet::Alexnet, "alexnet")
