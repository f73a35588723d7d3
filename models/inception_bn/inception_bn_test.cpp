// Tests of the model plugin `inception_bn`: names, shapes, order, counts and costs of its forms, held against the golden
// file and against figures that were counted by others (README.md says where).
#include "inception_bn.hpp"

#include "golden_names.hpp"
#include "plugin_options.hpp"

using namespace convoy;
using testing::build;
using testing::BuiltModel;
using testing::PluginOptions;
using testing::RecordingHost;

namespace {

using Dims = std::vector<int64_t>;

BuiltModel built(RecordingHost& host, const char* pooling, bool conv_bias = true, ModelSpec s = {}) {
  PluginOptions o;
  o.set("pooling", pooling).set("conv_bias", conv_bias);
  inception_bn::InceptionBn model(o.get());
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

}  // namespace

TEST_SUITE("models/inception_bn") {
  TEST_CASE("parameters, buffers and multiply-adds of every form are the published ones") {
    RecordingHost host;
    const struct {
      const char* pooling;
      bool conv_bias;
      int64_t parameters;
      const char* gmacs;
    } figures[] = {
        {"floor", true, 11295240, "1.987"}, {"ceil", true, 11295240, "2.033"}, {"floor", false, 11285224, "1.987"}};
    for (const auto& f : figures) {
      CAPTURE(std::string(f.pooling));
      CAPTURE(f.conv_bias);
      const BuiltModel m = built(host, f.pooling, f.conv_bias);
      CHECK(m.elements({Role::param}) == f.parameters);
      CHECK(m.elements({Role::frozen}) == 0);
      CHECK(m.elements({Role::state}) == 20032);
      CHECK(m.count(Op::conv2d) == 69);
      CHECK(m.count(Op::linear) == 1);
      CHECK(testing::giga(m.macs()) == f.gmacs);
    }
  }

  TEST_CASE("names, shapes and order are those of the golden file") {
    RecordingHost host;
    const auto golden = testing::golden_json("inception-bn");
    if (!golden) return;
    for (const uint32_t training : {0u, 1u})
      for (const char* pooling : {"floor", "ceil"})
        testing::check_golden_names(built(host, pooling, true, square(golden->at("resolution"), training)), *golden);
  }

  TEST_CASE("blocks have the widths of the source and the sizes of their pooling") {
    RecordingHost host;
    const std::pair<const char*, int64_t> widths[] = {{"3a", 256}, {"3b", 320}, {"3c", 576},  {"4a", 576},  {"4b", 576},
                                                      {"4c", 608}, {"4d", 608}, {"4e", 1056}, {"5a", 1024}, {"5b", 1024}};
    for (const char* pooling : {"floor", "ceil"}) {
      const bool ceil = std::string(pooling) == "ceil";
      const BuiltModel m = built(host, pooling);
      CHECK(shape(m, "conv1_7x7_s2") == Dims{1, 64, 112, 112});
      CHECK(shape(m, "pool1_3x3_s2")[2] == (ceil ? 56 : 55));
      CHECK(shape(m, "pool2_3x3_s2")[2] == (ceil ? 28 : 27));
      for (const auto& [name, width] : widths) {
        CAPTURE(std::string(name));
        const Dims& d = shape(m, std::string("inception_") + name + "_output");
        CHECK(d[1] == width);
        const bool whole = name[0] == '3' && name[1] != 'c', small = name[0] == '5' || std::string(name) == "4e";
        CHECK(d[2] == (whole ? (ceil ? 28 : 27) : small ? 7 : 14));
      }
    }
  }

  TEST_CASE("5b pools its branch with the maximum, the other blocks with the average over the padding too") {
    RecordingHost host;
    const BuiltModel m = built(host, "floor");
    for (const char* name : {"3a", "3b", "4a", "4b", "4c", "4d", "5a"}) {
      const ir::Node& n = m.node(std::string("inception_") + name + "_pool");
      CHECK(n.op == Op::avg_pool);
      CHECK(ir::unpack<PoolAttrs>(n).count_include_pad == 1);
    }
    CHECK(m.node("inception_5b_pool").op == Op::max_pool);
    CHECK(m.node("inception_3c_pool").op == Op::max_pool);
    CHECK(m.node("inception_3c_output").in[2] == m.node("inception_3c_pool").out[0]);
  }

  TEST_CASE("normalisation has MXNet's eps and decay; initial weights are Xavier's") {
    RecordingHost host;
    const BuiltModel m = built(host, "floor", true, square(224, 1));
    for (const ir::Node& n : m.graph.nodes)
      if (n.op == Op::batch_norm) {
        CHECK(ir::unpack<BatchNormAttrs>(n).eps == 1e-5 + 1e-10);
        CHECK(ir::unpack<BatchNormAttrs>(n).momentum == 0.1);
      }
    CHECK(m.value("inception_4c_3x3.weight").init == "xavier_gaussian_in(2)");
    CHECK(m.value("inception_4c_3x3.bias").init == "zeros");
    CHECK(m.value("fc.weight").init == "xavier_gaussian_in(2)");
    CHECK(m.value("fc.bias").init == "zeros");
  }

  TEST_CASE("pictures of other sizes, channels and classes build; ceil wants multiples of 32") {
    RecordingHost host;
    const auto of = [](uint32_t height, uint32_t width) {
      ModelSpec s = square(height, 1);
      s.width = width;
      s.channels = 1;
      s.classes = 7;
      return s;
    };
    for (const uint32_t side : {32u, 65u, 96u, 299u}) {
      CAPTURE(side);
      CHECK(built(host, "floor", false, of(side, side + 8)).count(Op::batch_norm) == 69);
    }
    for (const uint32_t side : {64u, 96u, 320u}) CHECK(built(host, "ceil", false, of(side, side + 32)).count(Op::batch_norm) == 69);

    PluginOptions o;
    o.set("pooling", "ceil");
    inception_bn::InceptionBn model(o.get());
    const BuiltModel odd = build(host, model, of(224, 299));
    CHECK(odd.code == Code::invalid);
    CHECK(odd.message.find("inception_3c_pool: its input is 28 x 37, and with pooling = \"ceil\"") != std::string::npos);
  }

  TEST_CASE("an unknown pooling is refused with the known ones") {
    RecordingHost host;
    PluginOptions o;
    o.set("pooling", "round");
    try {
      inception_bn::InceptionBn model(o.get());
      FAIL("not refused");
    } catch (const sdk::Error& e) {
      CHECK(e.code() == Code::invalid);
      CHECK(std::string(e.what()) == "pooling = \"round\": known are \"floor\" and \"ceil\"");
    }
  }
}
