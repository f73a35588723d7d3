// A third-party model, in full: a two-block residual network.
#include <convoy/sdk/model.hpp>

using namespace convoy;
using namespace convoy::sdk;

class ToyNet final : public Model {
 public:
  static constexpr const char* schema = "width : int = 8 [4..] # channels after the stem";
  explicit ToyNet(const Options& o) : width_(get(o, "width", 8)) {}

  std::pair<Var, Var> build(Graph& g, const ModelSpec& s) override {
    Var x = g.input("images", s.dtype, {s.batch, s.channels, s.height, s.width});
    Var t = g.input("labels", DType::i32, {s.batch});
    x = g.relu(g.bn(g.conv(x, "stem", {width_, 3, 1, 1}), "stem_bn"));
    x = block(g, block(g, x, "b1", width_, 1), "b2", 2 * width_, 2);
    Var logits = g.fc(g.gap(x), "head", s.classes);
    return {g.xent(logits, t), logits};
  }

 private:
  Var block(Graph& g, Var x, const std::string& n, int64_t out, int stride) {
    Var y = g.relu(g.bn(g.conv(x, n + ".conv1", {out, 3, stride, 1}), n + ".bn1"));
    y = g.bn(g.conv(y, n + ".conv2", {out, 3, 1, 1}), n + ".bn2");
    if (stride != 1 || g.shape(x).dim[1] != out) x = g.bn(g.conv(x, n + ".down", {out, 1, stride, 0}), n + ".down_bn");
    return g.relu(g.add(x, y));
  }

  int64_t width_;
};

CONVOY_PLUGIN(model, ToyNet, "toynet")
