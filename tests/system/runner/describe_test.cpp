// `runner describe` against the table of facts about the networks: counted from the definitions, most of them counted
// a second time by running the networks elsewhere.
#include "run_in_folder.hpp"

#include <algorithm>
#include <cmath>

using namespace convoy::testing;

namespace {

struct Fact {
  const char* model;
  std::vector<const char*> set;
  int64_t parameters;
  int64_t trainable;
  double gmacs;  // to three decimals, inference
  int64_t convolutions, linears;  // in training
  int64_t buffers;
};

const std::vector<Fact> kFacts{
    {"alexnet", {"variant=owt"}, 61'100'840, 61'100'840, 0.714, 5, 3, 0},
    {"alexnet", {"variant=mxnet"}, 50'844'008, 50'844'008, 1.010, 5, 3, 0},
    {"vgg", {"depth=11"}, 132'863'336, 132'863'336, 7.609, 8, 3, 0},
    {"vgg", {"depth=13"}, 133'047'848, 133'047'848, 11.308, 10, 3, 0},
    {"vgg", {"depth=16"}, 138'357'544, 138'357'544, 15.470, 13, 3, 0},
    {"vgg", {"depth=19"}, 143'667'240, 143'667'240, 19.632, 16, 3, 0},
    {"vgg", {"depth=11", "batch_norm=true"}, 132'868'840, 132'868'840, 7.609, 8, 3, 5'504},
    {"vgg", {"depth=13", "batch_norm=true"}, 133'053'736, 133'053'736, 11.308, 10, 3, 5'888},
    {"vgg", {"depth=16", "batch_norm=true"}, 138'365'992, 138'365'992, 15.470, 13, 3, 8'448},
    {"vgg", {"depth=19", "batch_norm=true"}, 143'678'248, 143'678'248, 19.632, 16, 3, 11'008},
    {"inception_bn", {"pooling=floor"}, 11'295'240, 11'295'240, 1.987, 69, 1, 20'032},
    {"inception_bn", {"pooling=ceil"}, 11'295'240, 11'295'240, 2.033, 69, 1, 20'032},
    {"inception_v3", {"aux=false"}, 23'834'568, 23'834'568, 5.713, 94, 1, 34'432},
    {"inception_v3", {"variant=mxnet"}, 23'834'568, 23'817'352, 5.713, 94, 1, 34'432},
    {"inception_v3", {"aux=true"}, 27'161'264, 27'161'264, 5.713, 96, 2, 36'224},
    {"resnet", {"depth=18"}, 11'689'512, 11'689'512, 1.814, 20, 1, 9'600},
    {"resnet", {"depth=34"}, 21'797'672, 21'797'672, 3.664, 36, 1, 17'024},
    {"resnet", {"depth=50", "version=v1"}, 25'557'032, 25'557'032, 3.858, 53, 1, 53'120},
    {"resnet", {"depth=50", "version=v1.5"}, 25'557'032, 25'557'032, 4.089, 53, 1, 53'120},
    {"resnet", {"depth=50", "version=v2"}, 25'549'486, 25'549'483, 4.089, 53, 1, 45'574},
    {"resnet", {"depth=101", "version=v1"}, 44'549'160, 44'549'160, 7.570, 104, 1, 105'344},
    {"resnet", {"depth=101", "version=v1.5"}, 44'549'160, 44'549'160, 7.801, 104, 1, 105'344},
    {"resnet", {"depth=101", "version=v2"}, 44'541'614, 44'541'611, 7.801, 104, 1, 97'798},
    {"resnet", {"depth=152", "version=v1"}, 60'192'808, 60'192'808, 11.282, 155, 1, 151'424},
    {"resnet", {"depth=152", "version=v1.5"}, 60'192'808, 60'192'808, 11.514, 155, 1, 151'424},
    {"resnet", {"depth=152", "version=v2"}, 60'185'262, 60'185'259, 11.514, 155, 1, 143'878},
    {"resnet", {"depth=18", "version=v2"}, 11'691'950, 11'691'947, 1.827, 21, 1, 7'942},
    {"resnet", {"depth=34", "version=v2"}, 21'800'110, 21'800'107, 3.677, 37, 1, 15'366},
    {"resnet", {"depth=20"}, 269'722, 269'722, 0.041, 19, 1, -1},
    {"resnet", {"depth=32"}, 464'154, 464'154, 0.069, 31, 1, -1},
    {"resnet", {"depth=44"}, 658'586, 658'586, 0.097, 43, 1, -1},
    {"resnet", {"depth=56"}, 853'018, 853'018, 0.125, 55, 1, -1},
};

std::vector<std::string> arguments(const Fact& f, std::vector<std::string> more = {}) {
  std::vector<std::string> out{"describe", f.model};
  for (const char* s : f.set) out.insert(out.end(), {"--set", s});
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

int64_t count(const nlohmann::json& layers, const char* op) {
  return std::count_if(layers.begin(), layers.end(), [&](const auto& l) { return l["op"] == op; });
}

}  // namespace

TEST_SUITE("describe") {
  TEST_CASE("totals are the published ones to the digit") {
    for (const Fact& f : kFacts) {
      const auto o = Program().run(arguments(f, {"--json"}));
      CAPTURE(f.model);
      CAPTURE(f.set.front());
      CAPTURE(o.text);
      REQUIRE(o.exit_code == 0);
      const auto j = nlohmann::json::parse(o.text);
      CHECK(j["parameters"] == f.parameters);
      CHECK(j["trainable"] == f.trainable);
      CHECK(j["gradient_bytes"] == 4 * f.trainable);
      CHECK(std::round(j["macs"].get<double>() / 1e6) == std::round(f.gmacs * 1e3));
      CHECK(count(j["layers"], "conv2d") == f.convolutions);
      CHECK(count(j["layers"], "linear") == f.linears);
      if (f.buffers >= 0) CHECK(j["buffers"] == f.buffers);
      int64_t parameters = 0, macs = 0;
      for (const auto& l : j["layers"]) parameters += l["parameters"].get<int64_t>(), macs += l["macs"].get<int64_t>();
      CHECK(parameters == f.parameters);
      CHECK(macs == j["training_macs"]);
    }
  }

  TEST_CASE("the auxiliary head's multiply-adds count in training only") {
    const auto o = Program().run({"describe", "inception_v3", "--set", "aux=true", "--json"});
    REQUIRE_MESSAGE(o.exit_code == 0, o.text);
    CHECK(std::round(nlohmann::json::parse(o.text)["training_macs"].get<double>() / 1e6) == 5719);
  }

  TEST_CASE("the table for people holds the layers and the totals") {
    const auto o = Program().run({"describe", "resnet", "--set", "depth=50"});
    CHECK(o.exit_code == 0);
    for (const char* words : {"layer4.2.conv3", "(1,2048,7,7)", "25557032", "4.089 G", "102.2 MB", "53120"}) CHECK_MESSAGE(has(o.text, words), words);
  }

  TEST_CASE("a misspelt option and a misspelt model name the known ones") {
    const auto option = Program().run({"describe", "resnet", "--set", "dept=50"});
    CHECK(option.exit_code == 2);
    CHECK_MESSAGE(has(option.text, "depth"), option.text);
    const auto model = Program().run({"describe", "resnett"});
    CHECK(model.exit_code != 0);
    CHECK_MESSAGE(has(model.text, "resnet"), model.text);
    CHECK(Program().run({"describe"}).exit_code == 2);
  }
}
