// Tests of the model plugin `resnet`: names, shapes, order, counts and costs of every depth and version, held
// against the golden files and against figures that were counted by others (README.md says where).
#include "resnet.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "built_model.hpp"
#include "plugin_options.hpp"
#include "shared_data.hpp"

using namespace convoy;
using testing::build;
using testing::BuiltModel;
using testing::NamedShapes;
using testing::PluginOptions;
using testing::RecordingHost;
using Json = nlohmann::ordered_json;  // the order of the names is part of what is compared

namespace {

BuiltModel built(RecordingHost& host, int depth, const std::string& version, ModelSpec s = {}) {
  PluginOptions o;
  o.set("depth", depth).set("version", version);
  resnet::Resnet model(o.get());
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

NamedShapes shapes_of(const Json& table) {
  NamedShapes out;
  for (const auto& [name, dims] : table.items()) out.emplace_back(name, dims.get<std::vector<int64_t>>());
  return out;
}

/// Compares one by one, so that a failure names the first parameter that differs.
void check_same(const NamedShapes& got, const NamedShapes& want) {
  CHECK(got.size() == want.size());
  for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i) {
    CAPTURE(want[i].first);
    REQUIRE(got[i].first == want[i].first);
    CHECK(got[i].second == want[i].second);
  }
}

std::string refusal(int depth, const char* version) {
  PluginOptions o;
  o.set("depth", depth).set("version", version);
  try {
    resnet::Resnet model(o.get());
    return {};
  } catch (const sdk::Error& e) {
    CHECK(e.code() == Code::invalid);
    return e.what();
  }
}

std::string giga(int64_t n) {
  char out[32];
  std::snprintf(out, sizeof(out), "%.3f", static_cast<double>(n) * 1e-9);
  return out;
}

struct Figures {
  int depth;
  const char* version;
  int64_t parameters;  // with the frozen scale of v2
  int64_t buffers;
  int64_t convolutions;
  const char* gmacs;
};

// Counted from the definitions and a second time by running torchvision's and MXNet's networks.
constexpr Figures kFigures[] = {
    {18, "v1", 11689512, 9600, 20, "1.814"},     {18, "v1.5", 11689512, 9600, 20, "1.814"},
    {34, "v1", 21797672, 17024, 36, "3.664"},    {34, "v1.5", 21797672, 17024, 36, "3.664"},
    {50, "v1", 25557032, 53120, 53, "3.858"},    {50, "v1.5", 25557032, 53120, 53, "4.089"},
    {101, "v1", 44549160, 105344, 104, "7.570"}, {101, "v1.5", 44549160, 105344, 104, "7.801"},
    {152, "v1", 60192808, 151424, 155, "11.282"}, {152, "v1.5", 60192808, 151424, 155, "11.514"},
    {18, "v2", 11691950, 7942, 21, "1.827"},     {34, "v2", 21800110, 15366, 37, "3.677"},
    {50, "v2", 25549486, 45574, 53, "4.089"},    {101, "v2", 44541614, 97798, 104, "7.801"},
    {152, "v2", 60185262, 143878, 155, "11.514"},
};

constexpr Figures kCifarFigures[] = {
    {20, "v1.5", 269722, 1376, 19, "0.041"},
    {32, "v1.5", 464154, 2272, 31, "0.069"},
    {44, "v1.5", 658586, 3168, 43, "0.097"},
    {56, "v1.5", 853018, 4064, 55, "0.125"},
};

void check_figures(const BuiltModel& m, const Figures& f) {
  CAPTURE(f.depth);
  CAPTURE(std::string(f.version));
  CHECK(m.elements({Role::param, Role::frozen}) == f.parameters);
  CHECK(m.elements({Role::state}) == f.buffers);
  CHECK(m.count(Op::conv2d) == f.convolutions);
  CHECK(m.count(Op::linear) == 1);
  CHECK(giga(m.macs()) == f.gmacs);
}

}  // namespace

TEST_SUITE("models/resnet") {
  TEST_CASE("parameters, buffers and multiply-adds of every ImageNet depth and version are the published ones") {
    RecordingHost host;
    for (const Figures& f : kFigures) check_figures(built(host, f.depth, f.version), f);
  }

  TEST_CASE("parameters, buffers and multiply-adds of the CIFAR depths are the published ones") {
    RecordingHost host;
    for (const Figures& f : kCifarFigures) check_figures(built(host, f.depth, f.version), f);
  }

  TEST_CASE("names, shapes and order are those of the golden files") {
    const auto shared = testing::shared_data();
    if (!shared) {
      MESSAGE("skipped: no shared data");
      return;
    }
    RecordingHost host;
    const struct {
      const char* file;
      int depth;
      const char* version;
    } cases[] = {{"resnet50-v1", 50, "v1"},
                 {"resnet50-v1.5", 50, "v1.5"},
                 {"resnet50-v2", 50, "v2"},
                 {"resnet152-v1.5", 152, "v1.5"}};
    for (const auto& c : cases) {
      CAPTURE(std::string(c.file));
      std::ifstream in(*shared / "golden" / (std::string(c.file) + ".json"));
      const Json golden = Json::parse(in);
      for (const uint32_t training : {0u, 1u}) {
        const BuiltModel m = built(host, c.depth, c.version, square(golden.at("resolution"), training));
        check_same(m.parameters(), shapes_of(golden.at("parameters")));
        check_same(m.buffers(), shapes_of(golden.at("buffers")));
        CHECK(m.elements({Role::param}) == golden.at("trainable").get<int64_t>());
        CHECK(m.elements({Role::param, Role::frozen}) == golden.at("total").get<int64_t>());
      }
    }
  }

  TEST_CASE("ResNet-20's names and shapes are those of a checkpoint from elsewhere") {
    const auto shared = testing::shared_data();
    if (!shared) {
      MESSAGE("skipped: no shared data");
      return;
    }
    std::ifstream in(*shared / "data" / "checkpoint" / "resnet20_cifar10.safetensors", std::ios::binary);
    uint64_t n = 0;
    in.read(reinterpret_cast<char*>(&n), sizeof(n));  // the header's length, little-endian
    std::string text(n, ' ');
    in.read(text.data(), static_cast<std::streamsize>(n));
    const Json header = Json::parse(text);
    NamedShapes stored;
    for (const auto& [name, entry] : header.items())
      if (name != "__metadata__") stored.emplace_back(name, entry.at("shape").get<std::vector<int64_t>>());

    RecordingHost host;
    NamedShapes ours = built(host, 20, "v1.5").shapes({Role::param, Role::frozen, Role::state});
    std::sort(stored.begin(), stored.end());
    std::sort(ours.begin(), ours.end());
    check_same(ours, stored);
  }

  TEST_CASE("the stride of a bottleneck stands in the 1x1 in v1 and in the 3x3 otherwise") {
    RecordingHost host;
    const auto stride = [&](const char* version, const char* node) {
      return ir::unpack<ConvAttrs>(built(host, 50, version).node(node)).stride[0];
    };
    CHECK(stride("v1", "layer2.0.conv1") == 2);
    CHECK(stride("v1", "layer2.0.conv2") == 1);
    CHECK(stride("v1.5", "layer2.0.conv1") == 1);
    CHECK(stride("v1.5", "layer2.0.conv2") == 2);
    CHECK(stride("v2", "stage2_unit1_conv2") == 2);
    CHECK(stride("v2", "stage2_unit1_sc") == 2);
  }

  TEST_CASE("v2 normalises the pictures with a scale that is not trained, and keeps MXNet's eps") {
    RecordingHost host;
    const BuiltModel v2 = built(host, 50, "v2", square(64, 1)), v1 = built(host, 50, "v1.5", square(64, 1));
    CHECK(v2.value("bn_data.weight").role == Role::frozen);
    CHECK(v2.value("bn_data.bias").role == Role::param);
    CHECK(v2.elements({Role::frozen}) == 3);
    CHECK(v1.elements({Role::frozen}) == 0);
    for (const ir::Node& n : v2.graph.nodes)
      if (n.op == Op::batch_norm) CHECK(ir::unpack<BatchNormAttrs>(n).eps == 2e-5);
    for (const ir::Node& n : v1.graph.nodes)
      if (n.op == Op::batch_norm) {
        CHECK(ir::unpack<BatchNormAttrs>(n).eps == 1e-5);
        CHECK(ir::unpack<BatchNormAttrs>(n).momentum == 0.1);
      }
  }

  TEST_CASE("initial weights follow the source of each form") {
    RecordingHost host;
    const BuiltModel v1 = built(host, 18, "v1.5"), v2 = built(host, 18, "v2"), small = built(host, 20, "v1.5");
    CHECK(v1.value("conv1.weight").init == "kaiming_normal_fan_out");
    CHECK(v1.value("layer1.0.bn2.weight").init == "ones");
    CHECK(v1.value("layer1.0.bn2.bias").init == "zeros");
    CHECK(v1.value("fc.weight").init == "torch_default");
    CHECK(v1.value("fc.bias").init == "torch_default_bias(512)");
    CHECK(v2.value("stage1_unit1_sc.weight").init == "xavier_gaussian_in(2)");
    CHECK(v2.value("fc1.bias").init == "zeros");
    CHECK(small.value("layer1.0.conv1.weight").init == "kaiming_normal_fan_in");
    CHECK(small.value("linear.bias").init == "torch_default_bias(64)");
  }

  TEST_CASE("pictures of any size, channels and classes build, in training and inference") {
    RecordingHost host;
    for (const uint32_t side : {32u, 65u, 224u})
      for (const uint32_t training : {0u, 1u}) {
        for (const char* version : {"v1", "v1.5", "v2"})
          for (const int depth : {18, 50}) {
            ModelSpec s = square(side, training);
            s.batch = 3;
            s.width = side + 8;
            s.channels = 1;
            s.classes = 7;
            CHECK(built(host, depth, version, s).count(training ? Op::batch_norm : Op::batch_norm_infer) > 0);
          }
        CHECK(built(host, 20, "v1.5", square(side, training)).count(Op::fill) == 4);
      }
  }

  TEST_CASE("where nobody says a size, ImageNet depths are made for 224 and CIFAR depths for 32 pixels") {
    RecordingHost host;
    CHECK(built(host, 50, "v2").value("images").dims == std::vector<int64_t>{1, 3, 224, 224});
    CHECK(built(host, 50, "v2").value("fc1.weight").dims == std::vector<int64_t>{1000, 2048});
    CHECK(built(host, 56, "v1.5").value("images").dims == std::vector<int64_t>{1, 3, 32, 32});
    CHECK(built(host, 56, "v1.5").value("linear.weight").dims == std::vector<int64_t>{10, 64});
  }

  TEST_CASE("unknown depths and versions are refused with the known ones") {
    CHECK(refusal(49, "v1.5").find("depth = 49: known are 18, 34, 50, 101, 152 (ImageNet) and 20") == 0);
    CHECK(refusal(50, "v3") == "version = \"v3\": known are \"v1\", \"v1.5\" and \"v2\"");
    CHECK(refusal(20, "v2").find("version = \"v2\": depth 20 exists in one form only") == 0);
    CHECK(refusal(20, "v1.5").empty());
  }
}
