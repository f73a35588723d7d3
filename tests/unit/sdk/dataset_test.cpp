// Tests of sdk/dataset.hpp: demands that data cannot meet, older callers, and errors of the author.
#include <convoy/sdk/dataset.hpp>

#include "dataset_reader.hpp"

using namespace convoy;
using testing::DatasetReader;
using testing::RecordingHost;
using testing::spec;

namespace {

/// Four pictures of 1 x 2 x 3 bytes in three classes; sample 2 cannot be read.
class Four final : public sdk::Dataset {
 public:
  DatasetInfo prepare(const ModelSpec&, const ModelSpec&) override {
    auto d = sdk::sized<DatasetInfo>();
    d.channels = 1;
    d.height = 2;
    d.width = 3;
    d.classes = 3;
    d.dtype = DType::u8;
    d.train = 4;
    return d;
  }
  int32_t load(const sdk::Sample& s, void* image) const override {
    if (s.index == 2) throw sdk::Error(Code::io, "two.jpg: cannot be read");
    std::memset(image, static_cast<int>(s.index), sdk::image_bytes(info()));
    return static_cast<int32_t>(s.index % 3);
  }
  std::string describe(Split, uint64_t index) const override { return "picture " + std::to_string(index); }
};

}  // namespace

TEST_SUITE("sdk/dataset") {
  TEST_CASE("a demand that data of a fixed shape cannot meet is refused") {
    RecordingHost host;
    Four four;
    DatasetReader data(host, four);
    CHECK(data.refusal(Code::invalid, spec(0, 4, 0, 0)) ==
          "the pictures are 1 x 2 x 3 (channels, height, width), but any x 4 x any is demanded");
    CHECK(data.refusal(Code::invalid, spec(0, 0, 0, 2)) == "the data have 3 classes, but 2 are demanded");
    CHECK(data.open(spec(1, 2, 3, 3)) == Code::ok);
  }

  TEST_CASE("more classes than the data have are what the experiment gets") {
    RecordingHost host;
    Four four;
    DatasetReader data(host, four);
    REQUIRE(data.open(spec(0, 0, 0, 1000)) == Code::ok);
    CHECK(data.info.classes == 1000);
  }

  TEST_CASE("a caller with an older, shorter struct is written no further than it is long") {
    RecordingHost host;
    Four four;
    auto info = sdk::sized<DatasetInfo>();
    info.struct_size = offsetof(DatasetInfo, any_batch);
    info.any_batch = 77;
    REQUIRE(four.open(spec(), spec(), &info) == Code::ok);
    CHECK(info.struct_size == offsetof(DatasetInfo, any_batch));
    CHECK(info.train == 4);
    CHECK(info.any_batch == 77);
  }

  TEST_CASE("an error while a sample is read is reported with its code and words") {
    RecordingHost host;
    Four four;
    DatasetReader data(host, four);
    REQUIRE(data.open() == Code::ok);
    testing::Pictures p;
    CHECK(data.try_read(p, Split::train, {0, 2}) == Code::io);
    CHECK(host.take() == "two.jpg: cannot be read");
    CHECK(data.read(Split::train, {3, 1}).labels == std::vector<int32_t>{0, 1});
    CHECK(data.try_read(p, Split::eval, {0}) == Code::invalid);
    CHECK(host.take() == "sample 0 asked for; eval has 0");
  }
}
