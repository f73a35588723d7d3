// Inception-v3, block by block. torchvision's inception.py is the source of names, for both variants; MXNet's
// symbols/inception-v3.py (commit 699d1ce) that of what the variant `mxnet` does differently.
#include "inception_v3.hpp"

namespace convoy::inception_v3 {
namespace {

using sdk::Graph;
using sdk::Var;

constexpr double kAuxWeight = 0.4;

Form form_of(bool mxnet) {
  if (mxnet) return {false, "xavier_gaussian_in(2)", "xavier_gaussian_in(2)", "zeros"};
  return {true, "trunc_normal(0.1)", "trunc_normal(0.1)", ""};
}

Var stem(const Layers& l, Var x) {
  Graph& g = l.graph();
  const auto scope = g.scope("stem");
  x = l.conv(x, "Conv2d_1a_3x3", {32, 3, 2});
  x = l.conv(x, "Conv2d_2a_3x3", {32, 3});
  x = g.max_pool(l.conv(x, "Conv2d_2b_3x3", {64, 3, 1, 1}), {3, 2}, "maxpool1");
  x = l.conv(x, "Conv2d_3b_1x1", 80);
  return g.max_pool(l.conv(x, "Conv2d_4a_3x3", {192, 3}), {3, 2}, "maxpool2");
}

/// Up to the last 17 x 17 maps.
Var up_to_17(const Layers& l, Var x) {
  x = stem(l, x);
  x = block_a(l, x, "Mixed_5b", 32);
  x = block_a(l, x, "Mixed_5c", 64);
  x = block_a(l, x, "Mixed_5d", 64);
  x = block_b(l, x, "Mixed_6a");
  x = block_c(l, x, "Mixed_6b", 128);
  x = block_c(l, x, "Mixed_6c", 160);
  x = block_c(l, x, "Mixed_6d", 160);
  return block_c(l, x, "Mixed_6e", 192);
}

}  // namespace

InceptionV3::InceptionV3(const Options& o) : aux_(sdk::get(o, "aux", false)), dropout_(sdk::get(o, "dropout", 0.5)) {
  const std::string variant = sdk::get(o, "variant", "torchvision");
  if (variant != "torchvision" && variant != "mxnet")
    throw sdk::Error(Code::invalid, "variant = \"" + variant + "\": known are \"torchvision\" and \"mxnet\"");
  mxnet_ = variant == "mxnet";
  if (mxnet_ && aux_)
    throw sdk::Error(Code::invalid, "aux = true: the variant \"mxnet\" has no auxiliary head; leave aux out, or take "
                                    "variant = \"torchvision\"");
  if (mxnet_) dropout_ = 0;
}

std::pair<Var, Var> InceptionV3::build(Graph& g, const ModelSpec& s) {
  const Layers l(g, form_of(mxnet_));
  const Var labels_in = labels(g, s);
  Var x = up_to_17(l, images(g, s));
  Var aux;
  if (aux_ && g.training()) aux = auxiliary(l, x, s.classes);
  x = block_d(l, x, "Mixed_7a");
  x = block_e(l, x, "Mixed_7b", BranchPool::average);
  x = block_e(l, x, "Mixed_7c", mxnet_ ? BranchPool::max : BranchPool::average);
  const auto scope = g.scope("head");
  x = g.gap(x, "avgpool");
  if (dropout_ > 0) x = g.dropout(x, dropout_, "dropout");
  const Var out = g.fc(x, "fc", s.classes, {true, l.form().fc_init, l.form().fc_bias_init});
  if (aux.v == kNoValue) return {g.xent(out, labels_in), out};
  return {g.weighted_sum({g.xent(out, labels_in, "main_loss"), g.xent(aux, labels_in, "aux_loss")}, {1, kAuxWeight}, "loss"),
          out};
}

}  // namespace convoy::inception_v3

CONVOY_PLUGIN(model, convoy::inception_v3::InceptionV3, "inception_v3")
