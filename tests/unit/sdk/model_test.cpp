// Tests of sdk/model.hpp and sdk/graph.hpp: what an author writes becomes the nodes and names it should.
#include <convoy/sdk/model.hpp>

#include <functional>
#include <memory>
#include <stdexcept>

#include "built_model.hpp"
#include "plugin_options.hpp"

using namespace convoy;
using namespace convoy::sdk;
using testing::build;
using testing::BuiltModel;
using testing::NamedShapes;
using testing::PluginOptions;
using testing::RecordingHost;

namespace {

/// The example of the documentation, as printed there.
class ToyNet final : public Model {
  int64_t width_;

 public:
  static constexpr const char* schema = "width : int = 16 [4..] # channels after the stem";
  explicit ToyNet(const Options& o) : width_(get(o, "width", 16)) {}
  Var block(Graph& g, Var x, const std::string& n, int64_t out, int stride) {
    Var y = g.relu(g.bn(g.conv(x, n + ".conv1", {out, 3, stride, 1}), n + ".bn1"));
    y = g.bn(g.conv(y, n + ".conv2", {out, 3, 1, 1}), n + ".bn2");
    if (stride != 1 || g.shape(x).dim[1] != out) x = g.bn(g.conv(x, n + ".down", {out, 1, stride, 0}), n + ".down_bn");
    return g.relu(g.add(x, y));
  }
  std::pair<Var, Var> build(Graph& g, const ModelSpec& s) override {
    Var x = g.input("images", s.dtype, {s.batch, s.channels, s.height, s.width});
    Var t = g.input("labels", DType::i32, {s.batch});
    x = g.relu(g.bn(g.conv(x, "stem", {width_, 3, 1, 1}), "stem_bn"));
    x = block(g, block(g, x, "b1", width_, 1), "b2", 2 * width_, 2);
    Var logits = g.fc(g.gap(x), "head", s.classes);
    return {g.xent(logits, t), logits};
  }
};

/// A model whose body is the test's.
class Scripted final : public Model {
 public:
  using Body = std::function<Var(Graph&, Var images)>;
  explicit Scripted(Body body) : body_(std::move(body)) {}
  std::pair<Var, Var> build(Graph& g, const ModelSpec& s) override {
    Var logits = g.fc(g.flatten(body_(g, images(g, s))), "head", s.classes);
    return {g.xent(logits, labels(g, s)), logits};
  }

 protected:
  MadeFor made_for() const override { return {4, 12, 10, 5}; }

 private:
  Body body_;
};

BuiltModel scripted(RecordingHost& host, Scripted::Body body, uint32_t training = 1) {
  Scripted model(std::move(body));
  ModelSpec s{};
  s.batch = 2;
  s.training = training;
  return build(host, model, s);
}

std::string refusal(RecordingHost& host, Scripted::Body body) {
  const BuiltModel m = scripted(host, std::move(body));
  CHECK(m.code == Code::invalid);
  return m.message;
}

}  // namespace

TEST_SUITE("sdk/model") {
  TEST_CASE("the documentation's model builds, with parameters named as weight files name them") {
    RecordingHost host;
    PluginOptions o;
    o.set("width", 8);
    Factory<ToyNet, IModel> factory(Kind::model, "toynet");
    CHECK(text(factory.options_schema()).find("width : int = 16") == 0);
    IObject* made = nullptr;
    REQUIRE(factory.create(o.get(), &made) == Code::ok);
    const std::unique_ptr<IObject, void (*)(IObject*)> owned(made, [](IObject* p) { p->destroy(); });
    auto* model = static_cast<IModel*>(made->query(IModel::id));
    REQUIRE(model != nullptr);
    CHECK(made->query("convoy.other.1") == nullptr);
    ModelSpec s{};
    s.batch = 4;
    s.training = 1;
    const BuiltModel m = build(host, *model, s);
    REQUIRE_MESSAGE(m.code == Code::ok, m.message);
    CHECK(m.value("images").dims == std::vector<int64_t>{4, 3, 32, 32});  // what nobody states has a default
    const NamedShapes p = m.parameters();
    CHECK(NamedShapes(p.begin(), p.begin() + 4) == NamedShapes{{"stem.weight", {8, 3, 3, 3}},
                                                               {"stem_bn.weight", {8}},
                                                               {"stem_bn.bias", {8}},
                                                               {"b1.conv1.weight", {8, 8, 3, 3}}});
    CHECK(p.back() == NamedShapes::value_type{"head.bias", {10}});
    CHECK(m.buffers()[1].first == "stem_bn.running_var");
    CHECK(m.node("stem_bn.relu").op == Op::relu);  // unnamed calls are called after what they are applied to
    CHECK(m.count(Op::batch_norm) == 6);
  }

  TEST_CASE("inference has the same parameters, running statistics and no dropout") {
    RecordingHost host;
    const auto body = [](Graph& g, Var x) { return g.dropout(g.bn(x, "bn"), 0.5); };
    const BuiltModel training = scripted(host, body, 1), inference = scripted(host, body, 0);
    CHECK(training.parameters() == inference.parameters());
    CHECK(training.buffers() == inference.buffers());
    CHECK(training.count(Op::batch_norm) == 1);
    CHECK(training.count(Op::dropout) == 1);
    CHECK(inference.count(Op::batch_norm_infer) == 1);
    CHECK(inference.count(Op::dropout) == 0);
  }

  TEST_CASE("dropouts share one random counter and each has a stream of its own") {
    RecordingHost host;
    const BuiltModel m = scripted(host, [](Graph& g, Var x) {
      return g.dropout(g.dropout(x, 0.5, "a"), 0.25, "b");
    });
    CHECK(m.value("rng").dtype == DType::i64);
    CHECK(m.value("rng").dims == std::vector<int64_t>{4});
    CHECK(m.node("a").in[1] == m.node("b").in[1]);
    CHECK(ir::unpack<DropoutAttrs>(m.node("a")).stream != ir::unpack<DropoutAttrs>(m.node("b")).stream);
    CHECK(ir::unpack<DropoutAttrs>(m.node("b")).p == 0.25);
  }

  TEST_CASE("convolutions and pools take one number or two, groups, bias and padding") {
    RecordingHost host;
    const BuiltModel m = scripted(host, [](Graph& g, Var x) {
      Conv c{6, {1, 7}, {1, 2}, {0, 3}};
      c.groups = 2;
      c.bias = true;
      x = g.conv(x, "conv", c);                     // (2, 6, 12, 5)
      x = g.max_pool(x, {3, 2, 1, true}, "max");    // (2, 6, 7, 3)
      return g.avg_pool(x, {2, 1, 0, false, false}, "avg");
    });
    CHECK(m.value("conv.weight").dims == std::vector<int64_t>{6, 2, 1, 7});
    CHECK(m.value("conv.bias").dims == std::vector<int64_t>{6});
    CHECK(m.node("conv.bias_add").op == Op::bias_add);
    const auto conv = ir::unpack<ConvAttrs>(m.node("conv"));
    CHECK(conv.kernel[1] == 7);
    CHECK(conv.stride[1] == 2);
    CHECK(conv.pad_lo[1] == 3);
    CHECK(conv.pad_hi[0] == 0);
    CHECK(conv.groups == 2);
    CHECK(conv.input_size[0] == 12);
    CHECK(m.graph[m.node("conv").out[0]].dims == std::vector<int64_t>{2, 6, 12, 5});
    CHECK(m.graph[m.node("max").out[0]].dims == std::vector<int64_t>{2, 6, 7, 3});
    CHECK(ir::unpack<PoolAttrs>(m.node("avg")).count_include_pad == 0);
  }

  TEST_CASE("branches are joined, sums weighted, constants filled, shapes changed") {
    RecordingHost host;
    const BuiltModel m = scripted(host, [](Graph& g, Var x) {
      const Var zeros = g.fill({2, 3, 12, 10}, 0.5, "half");
      const Var joined = g.concat({x, zeros, x}, "joined");
      const Var sum = g.weighted_sum({joined, joined}, {1, 0.4}, "sum");
      return g.reshape(g.lrn(sum), {2, 11, 60, 2}, "reshaped");
    });
    CHECK(m.graph[m.node("joined").out[0]].dims == std::vector<int64_t>{2, 11, 12, 10});
    CHECK(ir::unpack<FillAttrs>(m.node("half")).value == 0.5);
    CHECK(ir::unpack<WeightedSumAttrs>(m.node("sum")).weight[1] == 0.4);
    CHECK(ir::unpack<LrnAttrs>(m.node("sum.lrn")).size == 5);
    CHECK(m.value("head.weight").dims == std::vector<int64_t>{5, 1320});
  }

  TEST_CASE("adaptive pooling takes PyTorch's windows, one average where sizes divide, nothing where they are equal") {
    RecordingHost host;
    const BuiltModel same = scripted(host, [](Graph& g, Var x) { return g.adaptive_avg_pool(x, {12, 10}, "pool"); });
    CHECK(same.count(Op::avg_pool) == 0);
    const BuiltModel even = scripted(host, [](Graph& g, Var x) { return g.adaptive_avg_pool(x, {4, 5}, "pool"); });
    CHECK(even.count(Op::avg_pool) == 1);
    const auto window = ir::unpack<PoolAttrs>(even.node("pool"));
    CHECK((window.window[0] == 3 && window.window[1] == 2 && window.stride[0] == 3 && window.stride[1] == 2));

    // adaptive_avg_pool2d of 12 x 10 to 5 x 13: rows 0-3, 2-5, 4-8, 7-10, 9-12; columns repeat.
    const BuiltModel uneven = scripted(host, [](Graph& g, Var x) { return g.adaptive_avg_pool(x, {5, 13}, "pool"); });
    const std::pair<int64_t, int64_t> rows[] = {{0, 3}, {2, 3}, {4, 4}, {7, 3}, {9, 3}};
    for (int i = 0; i < 5; ++i) {
      const std::string part = "pool.rows" + std::to_string(i);
      const auto a = ir::unpack<SliceAttrs>(uneven.node(part + ".slice"));
      CHECK((a.axis == 2 && a.start == rows[i].first && a.length == rows[i].second));
      CHECK(ir::unpack<PoolAttrs>(uneven.node(part)).window[0] == rows[i].second);
    }
    const auto fourth = ir::unpack<SliceAttrs>(uneven.node("pool.columns4.slice"));  // floor(40 / 13) to ceil(50 / 13)
    CHECK((fourth.axis == 3 && fourth.start == 3 && fourth.length == 1));
    CHECK(uneven.graph[uneven.node("pool.columns").out[0]].dims == std::vector<int64_t>{2, 4, 5, 13});
    CHECK(refusal(host, [](Graph& g, Var x) { return g.adaptive_avg_pool(x, 0, "pool"); })
              .find("pool: the size to give out must be positive") != std::string::npos);
  }

  TEST_CASE("a scale that is not trained is frozen, and starts at one") {
    RecordingHost host;
    const BuiltModel m = scripted(host, [](Graph& g, Var x) {
      BatchNorm b;
      b.train_gamma = false;
      return g.bn(x, "bn", b);
    });
    CHECK(m.value("bn.weight").role == Role::frozen);
    CHECK(m.value("bn.weight").init == "ones");
    CHECK(m.value("bn.bias").role == Role::param);
  }

  TEST_CASE("scopes nest and end with their block") {
    RecordingHost host;
    const BuiltModel m = scripted(host, [](Graph& g, Var x) {
      const auto outer = g.scope("outer");
      {
        const auto inner = g.scope("inner");
        x = g.relu(x, "first");
      }
      return g.relu(x, "second");
    });
    CHECK(m.graph.scopes[m.node("first").scope] == "outer/inner");
    CHECK(m.graph.scopes[m.node("second").scope] == "outer");
    CHECK(m.graph.scopes[m.node("head").scope] == "");
  }

  TEST_CASE("a mistake is reported by the call that made it, with its layer's name") {
    RecordingHost host;
    CHECK(refusal(host, [](Graph& g, Var x) { return g.fc(x, "early", 3); }).find("early: a fully connected layer") == 0);
    CHECK(refusal(host, [](Graph& g, Var x) { return g.bn(g.gap(x), "bn"); }).find("bn: takes (samples, channels") == 0);
    CHECK(refusal(host, [](Graph& g, Var x) {
            Conv c{6, 3};
            c.groups = 3;
            return g.conv(x, "grouped", c);
          }) == "grouped: 4 channels do not divide into 3 groups");
    CHECK(refusal(host, [](Graph& g, Var x) { return g.conv(x, "c", {8, {3, int64_t{1} << 40}}); })
              .find("c") != std::string::npos);
    const std::string shapes = refusal(host, [](Graph& g, Var x) { return g.add(x, g.fill({2, 4}, 0), "sum"); });
    CHECK(shapes.find("sum") != std::string::npos);
    CHECK(shapes.find("(2,4,12,10)") != std::string::npos);
    CHECK(refusal(host, [](Graph& g, Var x) {
            return g.conv(g.conv(x, "twice", {4, 3, 1, 1}), "twice", {4, 3, 1, 1});
          }).find("twice.weight") != std::string::npos);
  }

  TEST_CASE("an exception of the author's own becomes a code with its message") {
    RecordingHost host;
    const BuiltModel m = scripted(host, [](Graph&, Var) -> Var { throw std::runtime_error("no such layer"); });
    CHECK(m.code == Code::internal);
    CHECK(m.message == "no such layer");
  }
}
