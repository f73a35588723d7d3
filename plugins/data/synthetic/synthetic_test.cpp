// Tests of the data plugin `synthetic`: contract, shapes, statistics.
#include "synthetic.hpp"

#include <cmath>

#include "dataset_reader.hpp"
#include "plugin_options.hpp"

using namespace convoy;
using testing::DatasetReader;
using testing::Pictures;
using testing::PluginOptions;
using testing::RecordingHost;
using testing::spec;
using testing::upto;

TEST_SUITE("data/synthetic") {
  TEST_CASE("every sample can be read, in both types and any shape") {
    RecordingHost host;
    for (const char* dtype : {"f32", "u8"}) {
      PluginOptions o;
      o.set("train", 50).set("eval", 20).set("dtype", dtype);
      synthetic::Synthetic plugin(o.get());
      DatasetReader data(host, plugin);
      REQUIRE(data.open(spec(2, 5, 7, 3)) == Code::ok);
      CHECK(data.info.channels == 2);
      CHECK(data.info.height == 5);
      CHECK(data.info.width == 7);
      CHECK(data.info.classes == 3);
      CHECK(data.info.any_batch == 1);
      check_dataset_contract(data, Split::train);
      check_dataset_contract(data, Split::eval);
    }
  }

  TEST_CASE("the shape is the experiment's where it says one, else the model's") {
    RecordingHost host;
    PluginOptions o;
    synthetic::Synthetic plugin(o.get());
    DatasetReader data(host, plugin);
    REQUIRE(data.open(spec(0, 64, 0, 0), spec(3, 224, 224, 1000)) == Code::ok);
    CHECK(data.info.channels == 3);
    CHECK(data.info.height == 64);
    CHECK(data.info.width == 224);
    CHECK(data.info.classes == 1000);
  }

  TEST_CASE("floats have mean 0 and variance 1, and bytes what the mean and deviation say") {
    // 100 samples of 768 values: the mean of uniform numbers errs by 1/sqrt(76800) = 0.0036; five times that.
    constexpr double kBound = 0.018;
    RecordingHost host;
    for (const char* dtype : {"f32", "u8"}) {
      PluginOptions o;
      o.set("dtype", dtype);
      synthetic::Synthetic plugin(o.get());
      DatasetReader data(host, plugin);
      REQUIRE(data.open(spec(3, 16, 16, 10)) == Code::ok);
      const Pictures p = data.read(Split::train, upto(100));
      const std::size_t n = p.bytes.size() / (data.info.dtype == DType::u8 ? 1 : 4);
      double sum = 0, squares = 0;
      for (std::size_t i = 0; i < n; ++i) {
        double v = data.info.dtype == DType::u8 ? p.bytes[i] : reinterpret_cast<const float*>(p.bytes.data())[i];
        if (data.info.dtype == DType::u8) v = (v - data.info.mean[0]) / data.info.stdev[0];
        sum += v;
        squares += v * v;
      }
      CHECK(std::abs(sum / n) < kBound);
      CHECK(std::abs(squares / n - 1) < kBound);
    }
  }

  TEST_CASE("another seed, another split and another sample are other pictures") {
    RecordingHost host;
    PluginOptions o;
    synthetic::Synthetic plugin(o.get());
    DatasetReader data(host, plugin);
    REQUIRE(data.open(spec(1, 8, 8, 10)) == Code::ok);
    const Pictures first = data.read(Split::train, {3}, 1);
    CHECK(first.bytes == data.read(Split::train, {3}, 1, 9).bytes);  // the epoch does not matter
    CHECK(first.bytes != data.read(Split::train, {3}, 2).bytes);
    CHECK(first.bytes != data.read(Split::eval, {3}, 1).bytes);
    CHECK(first.bytes != data.read(Split::train, {4}, 1).bytes);
  }

  TEST_CASE("a shape that nobody states or that cannot be is refused") {
    RecordingHost host;
    PluginOptions o;
    synthetic::Synthetic plugin(o.get());
    DatasetReader data(host, plugin);
    CHECK(data.refusal(Code::invalid).find("how large") != std::string::npos);
    CHECK(data.refusal(Code::invalid, spec(3, 100000, 100000, 10)).find("too large") != std::string::npos);
    PluginOptions bytes;
    bytes.set("dtype", "u8");
    synthetic::Synthetic five(bytes.get());
    DatasetReader channels(host, five);
    CHECK(channels.refusal(Code::invalid, spec(5, 8, 8, 10)).find("at most 4 channels") != std::string::npos);
  }
}
