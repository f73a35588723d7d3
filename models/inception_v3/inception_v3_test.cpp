// Tests of the model plugin `inception_v3`: names, shapes, order, counts and costs of its forms, held against the golden
// file and against figures that were counted by others (README.md says where).
#include "inception_v3.hpp"

#include "golden_names.hpp"
#include "plugin_options.hpp"

using namespace convoy;
using testing::build;
using testing::BuiltModel;
using testing::PluginOptions;
using testing::RecordingHost;

namespace {

using Dims = std::vector<int64_t>;

BuiltModel built(RecordingHost& host, const char* variant, bool aux = false, ModelSpec s = {}, double dropout = 0.5) {
  PluginOptions o;
  o.set("variant", variant).set("aux", aux).set("dropout", dropout);
  inception_v3::InceptionV3 model(o.get());
  BuiltModel out = build(host, model, s);
  REQUIRE_MESSAGE(out.code == Code::ok, out.message);
  return out;
}

ModelSpec square(uint32_t side, uint32_t training = 0) {
  auto s = sdk::sized<ModelSpec>();
  s.height = s.width = side;
  s.training = training;
  return s;
}

const Dims& shape(const BuiltModel& m, const std::string& node) { return m.graph[m.node(node).out[0]].dims; }

std::string refusal(const char* variant, bool aux) {
  PluginOptions o;
  o.set("variant", variant).set("aux", aux);
  try {
    inception_v3::InceptionV3 model(o.get());
    return {};
  } catch (const sdk::Error& e) {
    CHECK(e.code() == Code::invalid);
    return e.what();
  }
}

}  // namespace

TEST_SUITE("models/inception_v3") {
  TEST_CASE("parameters, buffers and multiply-adds of every form are the published ones") {
    RecordingHost host;
    const struct {
      const char* variant;
      bool aux;
      uint32_t training;
      int64_t parameters, trained, buffers;
      int convolutions, linear;
      const char* gmacs;
    } figures[] = {
        {"torchvision", false, 0, 23834568, 23834568, 34432, 94, 1, "5.713"},
        {"torchvision", true, 0, 23834568, 23834568, 34432, 94, 1, "5.713"},
        {"torchvision", true, 1, 27161264, 27161264, 34432 + 2 * (128 + 768), 96, 2, "5.719"},
        {"mxnet", false, 1, 23834568, 23817352, 34432, 94, 1, "5.713"},
    };
    for (const auto& f : figures) {
      CAPTURE(std::string(f.variant));
      CAPTURE(f.aux);
      const BuiltModel m = built(host, f.variant, f.aux, square(299, f.training));
      CHECK(m.elements({Role::param, Role::frozen}) == f.parameters);
      CHECK(m.elements({Role::param}) == f.trained);
      CHECK(m.elements({Role::state}) == f.buffers);
      CHECK(m.count(Op::conv2d) == f.convolutions);
      CHECK(m.count(Op::linear) == f.linear);
      CHECK(testing::giga(m.macs()) == f.gmacs);
    }
  }

  TEST_CASE("names, shapes and order are those of the golden file") {
    RecordingHost host;
    const auto golden = testing::golden_json("inception-v3");
    if (!golden) return;
    for (const uint32_t training : {0u, 1u})
      testing::check_golden_names(built(host, "torchvision", false, square(golden->at("resolution"), training)), *golden);
    const BuiltModel mxnet = built(host, "mxnet");
    testing::check_same(mxnet.parameters(), testing::shapes_of(golden->at("parameters")));
  }

  TEST_CASE("maps have the sizes and widths of the source") {
    RecordingHost host;
    const BuiltModel m = built(host, "torchvision");
    const struct {
      const char* node;
      int64_t channels, side;
    } maps[] = {{"Conv2d_1a_3x3.conv", 32, 149}, {"Conv2d_2a_3x3.conv", 32, 147}, {"Conv2d_2b_3x3.conv", 64, 147},
                {"maxpool1", 64, 73},            {"Conv2d_3b_1x1.conv", 80, 73},  {"Conv2d_4a_3x3.conv", 192, 71},
                {"maxpool2", 192, 35},           {"Mixed_5b.concat", 256, 35},    {"Mixed_5c.concat", 288, 35},
                {"Mixed_5d.concat", 288, 35},    {"Mixed_6a.concat", 768, 17},    {"Mixed_6b.concat", 768, 17},
                {"Mixed_6e.concat", 768, 17},    {"Mixed_7a.concat", 1280, 8},    {"Mixed_7b.concat", 2048, 8},
                {"Mixed_7c.concat", 2048, 8}};
    for (const auto& map : maps) {
      CAPTURE(std::string(map.node));
      CHECK(shape(m, map.node) == Dims{1, map.channels, map.side, map.side});
    }
  }

  TEST_CASE("branches pool with the average over the padding too; mxnet's last one with the maximum") {
    RecordingHost host;
    const BuiltModel torchvision = built(host, "torchvision"), mxnet = built(host, "mxnet");
    CHECK(torchvision.count(Op::avg_pool) == 9);
    for (const ir::Node& n : torchvision.graph.nodes)
      if (n.op == Op::avg_pool) CHECK(ir::unpack<PoolAttrs>(n).count_include_pad == 1);
    CHECK(mxnet.count(Op::avg_pool) == 8);
    CHECK(mxnet.node("Mixed_7b.branch_pool.pool").op == Op::avg_pool);
    CHECK(mxnet.node("Mixed_7c.branch_pool.pool").op == Op::max_pool);
  }

  TEST_CASE("mxnet's scales are fixed and it drops nothing; both normalise with eps 1e-3") {
    RecordingHost host;
    const BuiltModel torchvision = built(host, "torchvision", false, square(299, 1));
    const BuiltModel mxnet = built(host, "mxnet", false, square(299, 1));
    CHECK(torchvision.count(Op::dropout) == 1);
    CHECK(built(host, "torchvision", false, square(299, 0)).count(Op::dropout) == 0);
    CHECK(built(host, "torchvision", false, square(299, 1), 0).count(Op::dropout) == 0);
    CHECK(mxnet.count(Op::dropout) == 0);
    CHECK(mxnet.value("Mixed_7c.branch1x1.bn.weight").role == Role::frozen);
    for (const BuiltModel* m : {&torchvision, &mxnet})
      for (const ir::Node& n : m->graph.nodes)
        if (n.op == Op::batch_norm) CHECK(ir::unpack<BatchNormAttrs>(n).eps == 1e-3);
  }

  TEST_CASE("the auxiliary head exists in training, on the last 17 x 17 maps, and adds 0.4 of its loss") {
    RecordingHost host;
    const BuiltModel m = built(host, "torchvision", true, square(299, 1));
    CHECK(m.node("AuxLogits.pool").in[0] == m.node("Mixed_6e.concat").out[0]);
    CHECK(shape(m, "AuxLogits.pool") == Dims{1, 768, 5, 5});
    CHECK(shape(m, "AuxLogits.conv1.conv") == Dims{1, 768, 1, 1});
    CHECK(m.value("AuxLogits.fc.weight").dims == Dims{1000, 768});
    const auto sum = ir::unpack<WeightedSumAttrs>(m.node("loss"));
    CHECK((sum.n == 2 && sum.weight[0] == 1 && sum.weight[1] == 0.4));
    CHECK(m.node("loss").in == std::vector<Value>{m.node("main_loss").out[0], m.node("aux_loss").out[0]});
    CHECK(m.logits == m.node("fc.bias_add").out[0]);
  }

  TEST_CASE("initial weights follow the source of each variant") {
    RecordingHost host;
    const BuiltModel torchvision = built(host, "torchvision", true, square(299, 1)), mxnet = built(host, "mxnet");
    CHECK(torchvision.value("Conv2d_1a_3x3.conv.weight").init == "trunc_normal(0.1)");
    CHECK(torchvision.value("AuxLogits.conv1.conv.weight").init == "trunc_normal(0.01)");
    CHECK(torchvision.value("AuxLogits.fc.weight").init == "trunc_normal(0.001)");
    CHECK(torchvision.value("fc.weight").init == "trunc_normal(0.1)");
    CHECK(torchvision.value("fc.bias").init == "torch_default_bias(2048)");
    CHECK(mxnet.value("Mixed_6b.branch7x7_2.conv.weight").init == "xavier_gaussian_in(2)");
    CHECK(mxnet.value("fc.bias").init == "zeros");
  }

  TEST_CASE("pictures of other sizes, channels and classes build") {
    RecordingHost host;
    for (const uint32_t side : {75u, 128u, 224u})
      for (const char* variant : {"torchvision", "mxnet"}) {
        CAPTURE(side);
        ModelSpec s = square(side, 1);
        s.width = side + 8;
        s.channels = 1;
        s.classes = 7;
        CHECK(built(host, variant, false, s).count(Op::batch_norm) == 94);
      }
  }

  TEST_CASE("unknown variants, and what mxnet does not have, are refused") {
    RecordingHost host;
    CHECK(refusal("v4", false) == "variant = \"v4\": known are \"torchvision\" and \"mxnet\"");
    CHECK(refusal("mxnet", true).find("aux = true: the variant \"mxnet\" has no auxiliary head") == 0);
    CHECK(refusal("torchvision", true).empty());
  }
}
