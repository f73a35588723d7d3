// Tests of the data plugin `cifar`: both variants, known labels, augmentation, and broken files.
#include "cifar.hpp"

#include <filesystem>
#include <fstream>
#include <set>

#include <unistd.h>

#include "crop_flip.hpp"
#include "dataset_reader.hpp"
#include "plugin_options.hpp"
#include "shared_data.hpp"

using namespace convoy;
using testing::DatasetReader;
using testing::Pictures;
using testing::PluginOptions;
using testing::RecordingHost;
using testing::spec;
using testing::upto;
namespace fs = std::filesystem;

namespace {

/// A folder that is gone when it goes out of scope.
struct TemporaryFolder {
  fs::path path = fs::temp_directory_path() / ("convoy-cifar-" + std::to_string(::getpid()));
  TemporaryFolder() { fs::create_directories(path); }
  ~TemporaryFolder() { fs::remove_all(path); }

  /// Records whose pixel bytes are all `first`, `first` + 1, ...
  void write(const std::string& name, const std::vector<std::string>& labels, char first, std::size_t drop = 0) const {
    std::string out;
    for (const std::string& l : labels) out += l + std::string(3072, first++);
    out.resize(out.size() - drop);
    std::ofstream(path / name, std::ios::binary) << out;
  }
};

std::string refusal(RecordingHost& host, const std::string& path, const char* variant = "auto") {
  PluginOptions o;
  o.set("path", path).set("variant", variant);
  cifar::Cifar plugin(o.get());
  return DatasetReader(host, plugin).refusal(Code::io);
}

}  // namespace

TEST_SUITE("data/cifar") {
  TEST_CASE("the batches that exist are one training split, in order") {
    RecordingHost host;
    const TemporaryFolder folder;
    folder.write("data_batch_3.bin", {"\7", "\1"}, 'x');
    folder.write("data_batch_1.bin", {"\2", "\3", "\4"}, 'a');
    folder.write("test_batch.bin", {"\5"}, 'm');
    PluginOptions o;
    o.set("path", folder.path.string());
    cifar::Cifar plugin(o.get());
    DatasetReader data(host, plugin);
    REQUIRE(data.open() == Code::ok);
    CHECK(data.info.train == 5);
    CHECK(data.info.eval == 1);
    CHECK(data.info.classes == 10);
    const Pictures p = data.read(Split::train, {3, 0});
    CHECK(p.labels == std::vector<int32_t>{7, 2});
    CHECK(p.bytes.front() == 'x');
    CHECK(p.bytes.back() == 'a');
    CHECK(data.name(Split::train, 2) == "data_batch_1.bin#2");
    CHECK(data.name(Split::train, 4) == "data_batch_3.bin#1");
    CHECK(data.name(Split::eval, 0) == "test_batch.bin#0");
  }

  TEST_CASE("CIFAR-100 counts the second label, the fine one") {
    RecordingHost host;
    const TemporaryFolder folder;
    folder.write("train.bin", {"\x13\x63", std::string("\5\0", 2)}, 'a');
    folder.write("test.bin", {"\1\2"}, 'b');
    PluginOptions o;
    o.set("path", folder.path.string());
    cifar::Cifar plugin(o.get());
    DatasetReader data(host, plugin);
    REQUIRE(data.open() == Code::ok);
    CHECK(data.info.classes == 100);
    CHECK(data.read(Split::train, {0, 1}).labels == std::vector<int32_t>{99, 0});
    CHECK(data.read(Split::train, {0}).bytes == std::vector<unsigned char>(3072, 'a'));
    check_dataset_contract(data, Split::train);
  }

  TEST_CASE("mean and deviation are those of the variant") {
    RecordingHost host;
    const TemporaryFolder folder;
    folder.write("test_batch.bin", {"\5"}, 'm');
    PluginOptions o;
    o.set("path", folder.path.string());
    cifar::Cifar standard(o.get());
    DatasetReader data(host, standard);
    REQUIRE(data.open() == Code::ok);
    CHECK(data.info.mean[0] == doctest::Approx(0.4914 * 255).epsilon(1e-4));
    CHECK(data.info.stdev[2] == doctest::Approx(0.2616 * 255).epsilon(1e-4));
  }

  TEST_CASE("broken files and folders are refused with file and reason") {
    RecordingHost host;
    const TemporaryFolder folder;
    const std::string path = folder.path.string();
    CHECK(refusal(host, path).find(path + ": neither data_batch_1.bin") == 0);
    CHECK(refusal(host, path + "/gone") == path + "/gone: No such file or directory");
    folder.write("test_batch.bin", {"\1", "\2"}, 'a', 1);
    CHECK(refusal(host, path) == path + "/test_batch.bin: cut short in record 1: 3072 of the 3073 bytes of a cifar10 "
                                        "record");
    folder.write("test_batch.bin", {"\1", "\x0a"}, 'a');
    CHECK(refusal(host, path) == path + "/test_batch.bin: record 1 has label 10; cifar10 has 10 classes");
    folder.write("test_batch.bin", {}, 'a');
    CHECK(refusal(host, path) == path + "/test_batch.bin: holds no records");
    folder.write("train.bin", {"\1\1"}, 'a');
    CHECK(refusal(host, path).find("say variant =") != std::string::npos);
    folder.write("test_batch.bin", {"\1"}, 'a');
    CHECK(refusal(host, path + "/test_batch.bin", "cifar100").find("cut short in record 0: 3073 of the 3074") !=
          std::string::npos);
  }

  TEST_CASE("a crop moves the picture by at most four pixels, each way as often, and half are mirrored") {
    // Pixel (16, 16) of the first plane is marked: where it goes tells the crop and the mirror.
    std::vector<unsigned char> from(3072), to(3072);
    from[16 * 32 + 16] = 200;
    std::vector<int> rows(32), columns(32);
    constexpr int kDraws = 9000;
    for (int i = 0; i < kDraws; ++i) {
      sdk::Random random(3, sdk::RandomUse::augment, 0, static_cast<uint64_t>(i));
      cifar::crop_and_flip(from.data(), to.data(), random);
      const auto at = static_cast<std::size_t>(std::find(to.begin(), to.end(), 200) - to.begin());
      REQUIRE(at < 1024);
      ++rows[at / 32];
      ++columns[at % 32];
    }
    // Each of 9 rows is expected 1000 times, deviation 30: five of them. Columns 12..20, or 11..19 when mirrored.
    for (std::size_t r = 0; r < 32; ++r) CHECK(std::abs(rows[r] - (r >= 12 && r <= 20 ? 1000 : 0)) < 150);
    for (std::size_t c = 0; c < 32; ++c) {
      const int expected = (c >= 12 && c <= 20 ? 500 : 0) + (c >= 11 && c <= 19 ? 500 : 0);
      CHECK(std::abs(columns[c] - expected) < 150);
      if (expected == 0) CHECK(columns[c] == 0);
    }
  }

  TEST_CASE("augmentation differs by seed, epoch and sample, repeats, and leaves evaluation alone") {
    const auto shared = testing::shared_data();
    if (!shared) {
      MESSAGE("skipped: no shared data");
      return;
    }
    RecordingHost host;
    PluginOptions o;
    o.set("path", (*shared / "data" / "cifar10").string());
    cifar::Cifar plugin(o.get());
    DatasetReader data(host, plugin);
    REQUIRE(data.open() == Code::ok);
    const auto augmented = [&](uint64_t seed, uint64_t epoch) {
      return data.read(Split::train, upto(64), seed, epoch, true);
    };
    CHECK(augmented(1, 2) == augmented(1, 2));
    CHECK(augmented(1, 2).bytes != augmented(1, 3).bytes);
    CHECK(augmented(1, 2).bytes != augmented(2, 2).bytes);
    CHECK(augmented(1, 2).labels == data.read(Split::train, upto(64)).labels);
    CHECK(data.read(Split::eval, upto(64), 1, 0, true) == data.read(Split::eval, upto(64)));
  }

  TEST_CASE("CIFAR-10 is what it is known to be") {
    const auto shared = testing::shared_data();
    if (!shared) {
      MESSAGE("skipped: no shared data");
      return;
    }
    RecordingHost host;
    PluginOptions o;
    o.set("path", (*shared / "data" / "cifar10").string());
    cifar::Cifar plugin(o.get());
    DatasetReader data(host, plugin);
    REQUIRE(data.open() == Code::ok);
    CHECK(data.info.train == 1500);
    CHECK(data.info.eval == 500);
    check_dataset_contract(data, Split::train);
    check_dataset_contract(data, Split::eval);
    CHECK(data.read(Split::train, upto(20)).labels ==
          std::vector<int32_t>{6, 9, 9, 4, 1, 1, 2, 7, 8, 3, 4, 7, 7, 2, 9, 9, 9, 3, 2, 6});
    // The first picture's top left pixel, as every tutorial prints it: 59, 62, 63.
    const Pictures first = data.read(Split::train, {0});
    CHECK(first.bytes[0] == 59);
    CHECK(first.bytes[1024] == 62);
    CHECK(first.bytes[2048] == 63);
  }

  TEST_CASE("the file cut in its fourth record is refused") {
    const auto shared = testing::shared_data();
    if (!shared) {
      MESSAGE("skipped: no shared data");
      return;
    }
    RecordingHost host;
    const std::string file = (*shared / "data" / "cifar10_bad" / "cut_short.bin").string();
    CHECK(refusal(host, file) == file + ": cut short in record 3: 1000 of the 3073 bytes of a cifar10 record");
  }
}
