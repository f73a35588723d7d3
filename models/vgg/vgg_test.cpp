// Tests of the model plugin `vgg`: names, shapes, counts and costs of every depth, with and without batch
// normalisation, held against the golden files and against figures that were counted by others.
#include "vgg.hpp"

#include "golden_names.hpp"
#include "plugin_options.hpp"

using namespace convoy;
using testing::build;
using testing::BuiltModel;
using testing::PluginOptions;
using testing::RecordingHost;

namespace {

BuiltModel built(RecordingHost& host, int depth, bool bn, ModelSpec s = {}, double dropout = 0.5) {
  PluginOptions o;
  o.set("depth", depth).set("batch_norm", bn).set("dropout", dropout);
  vgg::Vgg model(o.get());
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

struct Figures {
  int depth;
  bool bn;
  int64_t parameters;
  int64_t buffers;
  const char* gmacs;
};

// Counted from the definition and a second time by running torchvision's networks.
constexpr Figures kFigures[] = {
    {11, false, 132863336, 0, "7.609"},  {11, true, 132868840, 5504, "7.609"},
    {13, false, 133047848, 0, "11.308"}, {13, true, 133053736, 5888, "11.308"},
    {16, false, 138357544, 0, "15.470"}, {16, true, 138365992, 8448, "15.470"},
    {19, false, 143667240, 0, "19.632"}, {19, true, 143678248, 11008, "19.632"},
};

}  // namespace

TEST_SUITE("models/vgg") {
  TEST_CASE("parameters, buffers and multiply-adds of every depth are the published ones") {
    RecordingHost host;
    for (const Figures& f : kFigures) {
      CAPTURE(f.depth);
      CAPTURE(f.bn);
      const BuiltModel m = built(host, f.depth, f.bn);
      CHECK(m.elements({Role::param}) == f.parameters);
      CHECK(m.elements({Role::state}) == f.buffers);
      CHECK(m.elements({Role::frozen}) == 0);
      CHECK(m.count(Op::conv2d) == f.depth - 3);
      CHECK(m.count(Op::linear) == 3);
      CHECK(m.count(Op::avg_pool) == 0);
      CHECK(testing::giga(m.macs()) == f.gmacs);
    }
  }

  TEST_CASE("names, shapes and order are those of the golden files") {
    RecordingHost host;
    const struct {
      const char* file;
      int depth;
      bool bn;
    } cases[] = {{"vgg11", 11, false}, {"vgg16", 16, false}, {"vgg16-bn", 16, true}};
    for (const auto& c : cases) {
      CAPTURE(std::string(c.file));
      const auto golden = testing::golden_json(c.file);
      if (!golden) return;
      for (const uint32_t training : {0u, 1u})
        testing::check_golden_names(built(host, c.depth, c.bn, square(golden->at("resolution"), training)), *golden);
    }
  }

  TEST_CASE("initial weights are torchvision's") {
    RecordingHost host;
    const BuiltModel m = built(host, 11, true);
    CHECK(m.value("features.0.weight").init == "kaiming_normal_fan_out");
    CHECK(m.value("features.0.bias").init == "zeros");
    CHECK(m.value("features.1.weight").init == "ones");
    CHECK(m.value("classifier.0.weight").init == "normal(0, 0.01)");
    CHECK(m.value("classifier.6.bias").init == "zeros");
  }

  TEST_CASE("dropout stands behind the first two fully connected layers, in training only, and can be left out") {
    RecordingHost host;
    const BuiltModel m = built(host, 11, false, square(64, 1));
    CHECK(m.count(Op::dropout) == 2);
    CHECK(ir::unpack<DropoutAttrs>(m.node("classifier.2")).p == 0.5);
    CHECK(m.node("classifier.2").in[0] == m.node("classifier.1").out[0]);
    CHECK(built(host, 11, false, square(64, 0)).count(Op::dropout) == 0);
    CHECK(built(host, 11, false, square(64, 1), 0).count(Op::dropout) == 0);
  }

  TEST_CASE("pictures of any size from 32 pixels on give 7 x 7 features") {
    RecordingHost host;
    for (const uint32_t side : {32u, 64u, 225u, 320u, 448u}) {
      CAPTURE(side);
      ModelSpec s = square(side, 1);
      s.width = side + 32;
      s.channels = 1;
      s.classes = 7;
      const BuiltModel m = built(host, 11, false, s);
      CHECK(m.value("classifier.0.weight").dims == std::vector<int64_t>{4096, 25088});
    }
  }

  TEST_CASE("an unknown depth is refused with the known ones") {
    RecordingHost host;
    PluginOptions o;
    o.set("depth", 12);
    try {
      vgg::Vgg model(o.get());
      FAIL("not refused");
    } catch (const sdk::Error& e) {
      CHECK(e.code() == Code::invalid);
      CHECK(std::string(e.what()) == "depth = 12: known are 11, 13, 16 and 19");
    }
  }
}
