// Tests of the model plugin `alexnet`: names, shapes, order, counts and costs of both variants, held against the
// golden files and against figures that were counted by others (README.md says where).
#include "alexnet.hpp"

#include "golden_names.hpp"
#include "plugin_options.hpp"

using namespace convoy;
using testing::build;
using testing::BuiltModel;
using testing::PluginOptions;
using testing::RecordingHost;

namespace {

using Dims = std::vector<int64_t>;

BuiltModel built(RecordingHost& host, const char* variant, ModelSpec s = {}, double dropout = 0.5) {
  PluginOptions o;
  o.set("variant", variant).set("dropout", dropout);
  alexnet::Alexnet model(o.get());
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

Dims shape(const BuiltModel& m, const char* node) { return m.graph[m.node(node).out[0]].dims; }

}  // namespace

TEST_SUITE("models/alexnet") {
  TEST_CASE("parameters and multiply-adds of both variants are the published ones") {
    RecordingHost host;
    const struct {
      const char* variant;
      int64_t parameters;
      const char* gmacs;
    } figures[] = {{"owt", 61100840, "0.714"}, {"mxnet", 50844008, "1.010"}};
    for (const auto& f : figures) {
      CAPTURE(std::string(f.variant));
      const BuiltModel m = built(host, f.variant);
      CHECK(m.elements({Role::param}) == f.parameters);
      CHECK(m.elements({Role::state, Role::frozen}) == 0);
      CHECK(m.count(Op::conv2d) == 5);
      CHECK(m.count(Op::linear) == 3);
      CHECK(testing::giga(m.macs()) == f.gmacs);
    }
  }

  TEST_CASE("names, shapes and order are those of the golden files") {
    RecordingHost host;
    const struct {
      const char *file, *variant;
    } cases[] = {{"alexnet-owt", "owt"}, {"alexnet-mx", "mxnet"}};
    for (const auto& c : cases) {
      CAPTURE(std::string(c.file));
      const auto golden = testing::golden_json(c.file);
      if (!golden) return;
      for (const uint32_t training : {0u, 1u})
        testing::check_golden_names(built(host, c.variant, square(golden->at("resolution"), training)), *golden);
    }
  }

  TEST_CASE("feature maps have the sizes of their sources") {
    RecordingHost host;
    const BuiltModel owt = built(host, "owt"), mxnet = built(host, "mxnet");
    CHECK(shape(owt, "features.0") == Dims{1, 64, 55, 55});
    CHECK(shape(owt, "features.2") == Dims{1, 64, 27, 27});
    CHECK(shape(owt, "features.5") == Dims{1, 192, 13, 13});
    CHECK(shape(owt, "features.12") == Dims{1, 256, 6, 6});
    CHECK(owt.count(Op::avg_pool) == 0);
    CHECK(shape(mxnet, "conv1") == Dims{1, 96, 54, 54});
    CHECK(shape(mxnet, "pool1") == Dims{1, 96, 26, 26});
    CHECK(shape(mxnet, "pool2") == Dims{1, 256, 12, 12});
    CHECK(shape(mxnet, "pool3") == Dims{1, 256, 5, 5});
  }

  TEST_CASE("response normalisation stands behind ReLU and before the pool, in mxnet only") {
    RecordingHost host;
    const BuiltModel m = built(host, "mxnet");
    CHECK(built(host, "owt").count(Op::lrn) == 0);
    CHECK(m.count(Op::lrn) == 2);
    for (const std::string n : {"1", "2"}) {
      CHECK(m.node("norm" + n).in[0] == m.node("relu" + n).out[0]);
      CHECK(m.node("pool" + n).in[0] == m.node("norm" + n).out[0]);
    }
    const auto a = ir::unpack<LrnAttrs>(m.node("norm1"));
    CHECK((a.size == 5 && a.alpha == 1e-4 && a.beta == 0.75 && a.k == 2));
  }

  TEST_CASE("dropout stands before two fully connected layers in owt, behind two in mxnet, in training only") {
    RecordingHost host;
    const BuiltModel owt = built(host, "owt", square(224, 1)), mxnet = built(host, "mxnet", square(224, 1));
    CHECK(owt.node("classifier.1").in[0] == owt.node("classifier.0").out[0]);
    CHECK(owt.node("classifier.3").in[0] == owt.node("classifier.2").out[0]);
    CHECK(mxnet.node("dropout1").in[0] == mxnet.node("relu_fc1").out[0]);
    CHECK(mxnet.node("dropout2").in[0] == mxnet.node("relu_fc2").out[0]);
    for (const char* variant : {"owt", "mxnet"}) {
      CHECK(built(host, variant, square(224, 1)).count(Op::dropout) == 2);
      CHECK(built(host, variant, square(224, 0)).count(Op::dropout) == 0);
      CHECK(built(host, variant, square(224, 1), 0).count(Op::dropout) == 0);
    }
  }

  TEST_CASE("initial weights follow the source of each variant") {
    RecordingHost host;
    const BuiltModel owt = built(host, "owt"), mxnet = built(host, "mxnet");
    CHECK(owt.value("features.3.weight").init == "torch_default");
    CHECK(owt.value("features.3.bias").init == "torch_default_bias(1600)");
    CHECK(owt.value("classifier.6.bias").init == "torch_default_bias(4096)");
    CHECK(mxnet.value("conv3.weight").init == "normal(0, 0.01)");
    CHECK(mxnet.value("conv3.bias").init == "zeros");
    CHECK(mxnet.value("fc3.weight").init == "normal(0, 0.01)");
  }

  TEST_CASE("pictures of other sizes, channels and classes build; owt gives 6 x 6 features always") {
    RecordingHost host;
    for (const uint32_t side : {67u, 128u, 227u, 299u})
      for (const char* variant : {"owt", "mxnet"}) {
        CAPTURE(side);
        ModelSpec s = square(side, 1);
        s.width = side + 40;
        s.channels = 1;
        s.classes = 7;
        const BuiltModel m = built(host, variant, s);
        if (std::string(variant) == "owt") CHECK(m.value("classifier.1.weight").dims == Dims{4096, 9216});
      }
  }

  TEST_CASE("an unknown variant is refused with the known ones") {
    RecordingHost host;
    PluginOptions o;
    o.set("variant", "caffe");
    try {
      alexnet::Alexnet model(o.get());
      FAIL("not refused");
    } catch (const sdk::Error& e) {
      CHECK(e.code() == Code::invalid);
      CHECK(std::string(e.what()) == "variant = \"caffe\": known are \"owt\" and \"mxnet\"");
    }
  }
}
