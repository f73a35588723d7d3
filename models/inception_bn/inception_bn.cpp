// Inception-BN, block by block. MXNet's symbols/inception-bn.py (commit 699d1ce) is the source of the layers, Caffe's
// weights that of the names.
#include "inception_bn.hpp"

#include <string>

namespace convoy::inception_bn {
namespace {

using sdk::Graph;
using sdk::Var;

constexpr double kEps = 1e-5 + 1e-10;
constexpr const char* kInit = "xavier_gaussian_in(2)";

enum class BranchPool { average, max };

/// Channels of a block that keeps the size: 1x1; 1x1 then 3x3; 1x1 then 3x3 twice; pool then 1x1.
struct Block {
  const char* name;
  int64_t one, three_reduce, three, double_reduce, doubled, projection;
  BranchPool pool = BranchPool::average;
};

/// Channels of a block that halves the size. It has no 1x1 branch and passes the pooled input on.
struct Halving {
  const char* name;
  int64_t three_reduce, three, double_reduce, doubled;
};

/// What the options decide, layer by layer.
class Layers {
 public:
  Layers(Graph& g, bool ceil, bool bias) : g_(g), ceil_(ceil), bias_(bias) {}

  Var conv(Var x, const std::string& name, int64_t out, int kernel, int stride = 1) const {
    sdk::Conv c{out, kernel, stride, kernel / 2};
    c.bias = bias_;
    c.init = kInit;
    return g_.relu(g_.bn(g_.conv(x, name, c), name + "_bn", {kEps}), name + "_relu");
  }

  /// Behind the first two convolutions.
  Var stem_pool(Var x, const std::string& name) const { return g_.max_pool(x, {3, 2, 0, ceil_}, name); }

  /// In the blocks that halve: with padding around, or with windows that may hang over below and right.
  Var halving_pool(Var x, const std::string& name) const {
    return g_.max_pool(x, {3, 2, ceil_ ? 0 : 1, ceil_}, name);
  }

  Var block(Var x, const Block& b) const {
    const auto scope = g_.scope(b.name);
    const std::string n = std::string("inception_") + b.name + "_";
    const Var one = conv(x, n + "1x1", b.one, 1);
    const Var three = conv(conv(x, n + "3x3_reduce", b.three_reduce, 1), n + "3x3", b.three, 3);
    Var twice = conv(x, n + "double_3x3_reduce", b.double_reduce, 1);
    twice = conv(conv(twice, n + "double_3x3_1", b.doubled, 3), n + "double_3x3_2", b.doubled, 3);
    const sdk::Pool same{3, 1, 1};  // counts the padding
    const Var pooled = b.pool == BranchPool::max ? g_.max_pool(x, same, n + "pool") : g_.avg_pool(x, same, n + "pool");
    return g_.concat({one, three, twice, conv(pooled, n + "pool_proj", b.projection, 1)}, n + "output");
  }

  Var halving(Var x, const Halving& b) const {
    const auto scope = g_.scope(b.name);
    const std::string n = std::string("inception_") + b.name + "_";
    need_even(x, n + "pool");
    const Var three = conv(conv(x, n + "3x3_reduce", b.three_reduce, 1), n + "3x3", b.three, 3, 2);
    Var twice = conv(x, n + "double_3x3_reduce", b.double_reduce, 1);
    twice = conv(conv(twice, n + "double_3x3_1", b.doubled, 3), n + "double_3x3_2", b.doubled, 3, 2);
    return g_.concat({three, twice, halving_pool(x, n + "pool")}, n + "output");
  }

 private:
  /// A convolution of padding 1 and a pool of none give the same size for even inputs only.
  void need_even(Var x, const std::string& name) const {
    const TensorDesc d = g_.shape(x);
    if (ceil_ && (d.dim[2] % 2 != 0 || d.dim[3] % 2 != 0))
      throw sdk::Error(Code::invalid, name + ": its input is " + std::to_string(d.dim[2]) + " x " + std::to_string(d.dim[3]) +
                                          ", and with pooling = \"ceil\" branches meet for even sizes only; take pictures "
                                          "of a multiple of 32, or pooling = \"floor\"");
  }

  Graph& g_;
  bool ceil_;
  bool bias_;
};

Var stem(Graph& g, const Layers& l, Var x) {
  const auto scope = g.scope("stem");
  x = l.stem_pool(l.conv(x, "conv1_7x7_s2", 64, 7, 2), "pool1_3x3_s2");
  x = l.conv(l.conv(x, "conv2_3x3_reduce", 64, 1), "conv2_3x3", 192, 3);
  return l.stem_pool(x, "pool2_3x3_s2");
}

}  // namespace

InceptionBn::InceptionBn(const Options& o) : conv_bias_(sdk::get(o, "conv_bias", true)) {
  const std::string pooling = sdk::get(o, "pooling", "floor");
  if (pooling != "floor" && pooling != "ceil")
    throw sdk::Error(Code::invalid, "pooling = \"" + pooling + "\": known are \"floor\" and \"ceil\"");
  ceil_ = pooling == "ceil";
}

std::pair<Var, Var> InceptionBn::build(Graph& g, const ModelSpec& s) {
  const Layers l(g, ceil_, conv_bias_);
  const Var labels_in = labels(g, s);
  Var x = stem(g, l, images(g, s));
  x = l.block(x, {"3a", 64, 64, 64, 64, 96, 32});
  x = l.block(x, {"3b", 64, 64, 96, 64, 96, 64});
  x = l.halving(x, {"3c", 128, 160, 64, 96});
  x = l.block(x, {"4a", 224, 64, 96, 96, 128, 128});
  x = l.block(x, {"4b", 192, 96, 128, 96, 128, 128});
  x = l.block(x, {"4c", 160, 128, 160, 128, 160, 128});
  x = l.block(x, {"4d", 96, 128, 192, 160, 192, 128});
  x = l.halving(x, {"4e", 128, 192, 192, 256});
  x = l.block(x, {"5a", 352, 192, 320, 160, 224, 128});
  x = l.block(x, {"5b", 352, 192, 320, 192, 224, 128, BranchPool::max});
  const auto scope = g.scope("head");
  const Var out = g.fc(g.gap(x, "global_pool"), "fc", s.classes, {true, kInit, "zeros"});
  return {g.xent(out, labels_in), out};
}

}  // namespace convoy::inception_bn

CONVOY_PLUGIN(model, convoy::inception_bn::InceptionBn, "inception_bn")
