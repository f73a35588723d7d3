// Tests of the model plugin `lenet`: sizes, parameters, refusals.
#include "lenet.hpp"

#include "built_model.hpp"
#include "plugin_options.hpp"

using namespace convoy;
using testing::build;
using testing::BuiltModel;
using testing::PluginOptions;
using testing::RecordingHost;

namespace {

ModelSpec spec(uint32_t channels, uint32_t height, uint32_t width, uint32_t classes = 0) {
  auto s = sdk::sized<ModelSpec>();
  s.channels = channels;
  s.height = height;
  s.width = width;
  s.classes = classes;
  return s;
}

}  // namespace

TEST_SUITE("models/lenet") {
  TEST_CASE("parameters and multiply-adds are those that the layers' sizes give") {
    RecordingHost host;
    PluginOptions o;
    lenet::Lenet model(o.get());
    const BuiltModel m = build(host, model, {});
    REQUIRE(m.code == Code::ok);
    CHECK(m.parameters() == testing::NamedShapes{{"conv1.weight", {16, 1, 5, 5}},
                                                 {"conv1.bias", {16}},
                                                 {"conv2.weight", {32, 16, 5, 5}},
                                                 {"conv2.bias", {32}},
                                                 {"fc1.weight", {128, 800}},
                                                 {"fc1.bias", {128}},
                                                 {"fc2.weight", {10, 128}},
                                                 {"fc2.bias", {10}}});
    CHECK(m.elements({Role::param}) == 117066);
    CHECK(m.macs() == 28 * 28 * 16 * 25 + 10 * 10 * 32 * 400 + 800 * 128 + 1280);
  }

  TEST_CASE("other pictures, widths and classes build") {
    RecordingHost host;
    PluginOptions o;
    o.set("width", 4);
    lenet::Lenet model(o.get());
    for (const ModelSpec& s : {spec(3, 32, 32), spec(1, 16, 16, 2), spec(3, 33, 20, 100), spec(4, 64, 64)}) {
      const BuiltModel m = build(host, model, s);
      CHECK_MESSAGE(m.code == Code::ok, m.message);
      CHECK(m.value("conv1.weight").dims == std::vector<int64_t>{4, s.channels, 5, 5});
    }
  }

  TEST_CASE("pictures that are too small are refused with their size") {
    RecordingHost host;
    PluginOptions o;
    lenet::Lenet model(o.get());
    const BuiltModel m = build(host, model, spec(1, 15, 28));
    CHECK(m.code == Code::invalid);
    CHECK(m.message == "lenet takes pictures of at least 16 x 16 pixels, not 15 x 28");
  }
}
