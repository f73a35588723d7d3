// Tests of the data plugin `shapes`: contract, balance, and pictures in which the figure can be seen.
#include "shapes.hpp"

#include <cmath>
#include <set>

#include "dataset_reader.hpp"
#include "picture.hpp"
#include "plugin_options.hpp"

using namespace convoy;
using testing::DatasetReader;
using testing::Pictures;
using testing::PluginOptions;
using testing::RecordingHost;
using testing::spec;
using testing::upto;

TEST_SUITE("data/shapes") {
  TEST_CASE("every sample can be read") {
    RecordingHost host;
    PluginOptions o;
    o.set("train", 200).set("eval", 100);
    shapes::Shapes plugin(o.get());
    DatasetReader data(host, plugin);
    REQUIRE(data.open() == Code::ok);
    CHECK(data.info.channels == 3);
    CHECK(data.info.height == 32);
    CHECK(data.info.width == 32);
    CHECK(data.info.classes == 10);
    CHECK(data.info.dtype == DType::u8);
    CHECK(data.info.any_batch == 0);
    check_dataset_contract(data, Split::train);
    check_dataset_contract(data, Split::eval);
    CHECK(data.name(Split::eval, 15) == "shapes eval#15 (star)");
  }

  TEST_CASE("pictures do not depend on the run's seed or the epoch, and no two are alike") {
    RecordingHost host;
    PluginOptions o;
    shapes::Shapes plugin(o.get());
    DatasetReader data(host, plugin);
    REQUIRE(data.open() == Code::ok);
    CHECK(data.read(Split::train, upto(20), 1) == data.read(Split::train, upto(20), 2, 7, true));
    const Pictures train = data.read(Split::train, upto(500)), eval = data.read(Split::eval, upto(500));
    std::set<std::vector<unsigned char>> seen;
    for (const Pictures* p : {&train, &eval})
      for (std::size_t i = 0; i < 500; ++i)
        seen.insert({p->bytes.begin() + static_cast<std::ptrdiff_t>(i * 3072),
                     p->bytes.begin() + static_cast<std::ptrdiff_t>((i + 1) * 3072)});
    CHECK(seen.size() == 1000);
  }

  TEST_CASE("classes take turns") {
    RecordingHost host;
    PluginOptions o;
    o.set("classes", 4);
    shapes::Shapes plugin(o.get());
    DatasetReader data(host, plugin);
    REQUIRE(data.open() == Code::ok);
    CHECK(data.info.classes == 4);
    CHECK(data.read(Split::eval, upto(6)).labels == std::vector<int32_t>{0, 1, 2, 3, 0, 1});
  }

  TEST_CASE("size and classes follow the experiment's demand, and a contradiction is refused") {
    RecordingHost host;
    PluginOptions none;
    shapes::Shapes free(none.get());
    DatasetReader demanded(host, free);
    REQUIRE(demanded.open(spec(3, 48, 40, 5), spec(1, 28, 28, 10)) == Code::ok);
    CHECK(demanded.info.height == 48);
    CHECK(demanded.info.width == 40);
    CHECK(demanded.info.classes == 5);
    check_dataset_contract(demanded, Split::eval, 60);

    PluginOptions o;
    o.set("size", 32);
    shapes::Shapes fixed(o.get());
    DatasetReader data(host, fixed);
    CHECK(data.refusal(Code::invalid, spec(3, 64, 64, 0)) ==
          "the pictures are 3 x 32 x 32 (channels, height, width), but 3 x 64 x 64 is demanded");
    CHECK(data.refusal(Code::invalid, spec(1, 0, 0, 0)).find("1 x any x any") != std::string::npos);
  }

  TEST_CASE("the figure's middle shows its colour and the corners the background's") {
    // The noise is switched off, so only rounding to bytes is left.
    constexpr float kRounding = 1.0f;
    for (uint64_t i = 0; i < 50; ++i) {
      sdk::Random random(5, sdk::RandomUse::shapes, 0, i);
      shapes::Picture p = shapes::draw(shapes::Figure::circle, 40, 24, random);
      p.noise = 0;
      std::vector<unsigned char> pixels(3 * 40 * 24);
      shapes::render(p, 40, 24, random, pixels.data());
      const auto x = static_cast<std::size_t>(p.centre_x), y = static_cast<std::size_t>(p.centre_y);
      for (std::size_t c = 0; c < 3; ++c) {
        CHECK(std::abs(static_cast<float>(pixels[c * 960 + y * 24 + x]) - p.figure_colour[c]) <= kRounding);
        const float drift = std::abs(p.background_to[c] - p.background_from[c]) / 32 + kRounding;
        CHECK(std::abs(static_cast<float>(pixels[c * 960]) - p.background_from[c]) <= drift);
      }
    }
  }

  TEST_CASE("figure and background are never near in colour") {
    for (uint64_t i = 0; i < 2000; ++i) {
      sdk::Random random(6, sdk::RandomUse::shapes, 0, i);
      const shapes::Picture p = shapes::draw(shapes::Figure::ring, 32, 32, random);
      double squares = 0;
      for (std::size_t c = 0; c < 3; ++c)
        squares += std::pow(p.figure_colour[c] - p.background_from[c], 2);
      CHECK(std::sqrt(squares) >= 120);
      CHECK(p.centre_x >= p.radius);
      CHECK(p.centre_x <= 32 - p.radius);
    }
  }

  TEST_CASE("mean and deviation are those of the pictures") {
    constexpr double kBound = 1.5;  // 2,000 pictures of deviation about 60 between them: 60 / sqrt(2000)
    RecordingHost host;
    PluginOptions o;
    shapes::Shapes plugin(o.get());
    DatasetReader data(host, plugin);
    REQUIRE(data.open() == Code::ok);
    const Pictures p = data.read(Split::train, upto(2000));
    double sum = 0, squares = 0;
    for (unsigned char b : p.bytes) {
      sum += b;
      squares += double{1} * b * b;
    }
    const double mean = sum / p.bytes.size(), stdev = std::sqrt(squares / p.bytes.size() - mean * mean);
    CHECK(std::abs(mean - data.info.mean[0]) < kBound);
    CHECK(std::abs(stdev - data.info.stdev[0]) < kBound);
  }
}
