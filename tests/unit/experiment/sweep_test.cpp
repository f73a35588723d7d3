#include "experiment/sweep.hpp"

#include "experiment/toml_reader.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace convoy;
using namespace convoy::experiment;

namespace {

std::vector<SweepPoint> points_of(const ConfigTable& config) {
  const Sweep sweep(config);
  std::vector<SweepPoint> out;
  for (std::size_t i = 0; i < sweep.size(); ++i) out.push_back(sweep.point(i));
  return out;
}

std::vector<SweepPoint> points(const std::string& text) { return points_of(parse_toml(text, "exp.toml")); }

std::vector<std::string> labels(const std::vector<SweepPoint>& points) {
  std::vector<std::string> out;
  for (const auto& p : points) out.push_back(p.label);
  return out;
}

const ConfigValue* value(const SweepPoint& p, const char* table, const char* key) {
  const auto* t = p.config.find(table)->value.as<ConfigTable>();
  const ConfigEntry* e = t->find(key);
  return e == nullptr ? nullptr : &e->value;
}

std::string refusal(const std::string& text) {
  try {
    points(text);
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::usage);
    return e.what();
  }
  return "";
}

}  // namespace

TEST_SUITE("experiment/sweep") {
  TEST_CASE("a file without a sweep is one point without a label") {
    const auto p = points("[data]\nbatch = 4");
    REQUIRE(p.size() == 1);
    CHECK(p[0].label.empty());
    CHECK(points("[sweep]").size() == 1);
  }

  TEST_CASE("axes multiply, in the order in which they are written, the last varying fastest") {
    const auto p = points("[data]\nbatch = 4\nuse = 'shapes'\n[sweep]\n'optimizer.lr' = [0.1, 0.2]\ndata.batch = [1, 2, 3]");
    CHECK(labels(p) == std::vector<std::string>{"optimizer.lr=0.1 data.batch=1", "optimizer.lr=0.1 data.batch=2", "optimizer.lr=0.1 data.batch=3",
                                                "optimizer.lr=0.2 data.batch=1", "optimizer.lr=0.2 data.batch=2", "optimizer.lr=0.2 data.batch=3"});
    CHECK(*value(p[4], "data", "batch")->as<int64_t>() == 2);
    CHECK(*value(p[4], "data", "use")->as<std::string>() == "shapes");
    CHECK(*value(p[4], "optimizer", "lr")->as<double>() == 0.2);
    CHECK(p[4].config.find("sweep") == nullptr);
  }

  TEST_CASE("a table as a value is put over the file's table, for its own point only") {
    const auto p = points("[model]\nclasses = 10\n[sweep]\nmodel = [{ use = 'resnet', depth = 50 }, { use = 'vgg' }]");
    CHECK(labels(p) == std::vector<std::string>{"model.use=resnet model.depth=50", "model.use=vgg"});
    CHECK(*value(p[0], "model", "classes")->as<int64_t>() == 10);
    CHECK(*value(p[1], "model", "classes")->as<int64_t>() == 10);
    CHECK(value(p[1], "model", "depth") == nullptr);
  }

  TEST_CASE("a table that names another plugin replaces the file's table") {
    const auto p = points("[model]\nuse = 'resnet'\ndepth = 50\nclasses = 10\n[sweep]\nmodel = [{ use = 'vgg' }, { use = 'resnet', version = 'v2' }]");
    CHECK(value(p[0], "model", "depth") == nullptr);
    CHECK(value(p[0], "model", "classes") == nullptr);
    CHECK(*value(p[1], "model", "depth")->as<int64_t>() == 50);
  }

  TEST_CASE("what cannot be swept is refused") {
    CHECK(refusal("[sweep]\n'data.batch' = 3").find("a list of values is expected") != std::string::npos);
    CHECK(refusal("[sweep]\n'data.batch' = []").find("a list of values is expected") != std::string::npos);
    CHECK(refusal("[sweep]\n'data.batch' = [1, 2, 1]").find("has 1 twice") != std::string::npos);
    CHECK(refusal("[sweep]\n'run.seed' = [1, 2]").find("[run] cannot be swept") != std::string::npos);
    CHECK(refusal("model = 3\n[sweep]\n'model.use' = ['a']").find("'model' is no table") != std::string::npos);
    CHECK(refusal("[sweep]\n'data.batch' = [1, 2]\ndata.batch = [3]").find("'data.batch' is swept twice") != std::string::npos);
    std::string many = "[sweep]\n";
    for (int axis = 0; axis < 5; ++axis) many += "'data.k" + std::to_string(axis) + "' = [1, 2, 3, 4, 5, 6, 7, 8, 9]\n";
    CHECK(refusal(many).find("more than 10000") != std::string::npos);
  }

  TEST_CASE("--sweep adds an axis or replaces one, with values as --set takes them") {
    auto config = parse_toml("[sweep]\n'data.batch' = [1, 2]", "exp.toml");
    apply_sweep(config, "data.batch=8,16");
    apply_sweep(config, "device.use=cpu,\"a,b\"");
    apply_sweep(config, "model=[{use='x', sizes=[1, 2]}]");
    CHECK(labels(points_of(config)) ==
          std::vector<std::string>{"data.batch=8 device.use=cpu model.use=x model.sizes=[1, 2]", "data.batch=8 device.use=a,b model.use=x model.sizes=[1, 2]",
                                   "data.batch=16 device.use=cpu model.use=x model.sizes=[1, 2]", "data.batch=16 device.use=a,b model.use=x model.sizes=[1, 2]"});
    auto bare = parse_toml("[sweep]\ndata.batch = [1, 2]", "exp.toml");
    apply_sweep(bare, "data.batch=8");
    CHECK(labels(points_of(bare)) == std::vector<std::string>{"data.batch=8"});
    for (const char* wrong : {"", "data.batch", "data.batch=", "=1,2"}) CHECK_THROWS_AS(apply_sweep(config, wrong), Error);
  }

  TEST_CASE("a file written out means the same sweep") {
    const auto config = parse_toml("[model]\nclasses = 10\n[data]\nmean = [0.5, 1]\n[report]\nprice_per_minute = { 'NVIDIA H200' = 0.06 }\n"
                                   "[sweep]\nmodel = [{ use = 'resnet', depth = 50 }]\ndata.batch = [1, 2]", "exp.toml");
    const std::string text = to_toml(config);
    const auto again = parse_toml(text, "again.toml");
    CHECK(labels(points_of(again)) == labels(points_of(config)));
    CHECK(to_toml(again) == text);
  }
}
