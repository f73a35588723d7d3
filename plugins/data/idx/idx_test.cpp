// Tests of the data plugin `idx`: splits and pairs of files, MNIST's known contents, and the broken files.
#include "idx.hpp"

#include <filesystem>
#include <fstream>
#include <numeric>

#include <unistd.h>

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
  fs::path path = fs::temp_directory_path() / ("convoy-idx-folder-" + std::to_string(::getpid()));
  TemporaryFolder() { fs::create_directories(path); }
  ~TemporaryFolder() { fs::remove_all(path); }

  std::string write(const std::string& name, const std::vector<uint32_t>& dims, const std::string& values) const {
    std::string out{'\0', '\0', '\b', static_cast<char>(dims.size())};
    for (uint32_t d : dims)
      for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<char>(d >> shift));
    std::ofstream(path / name, std::ios::binary) << out << values;
    return (path / name).string();
  }
};

std::string refusal(RecordingHost& host, const PluginOptions& o) {
  idx::Idx plugin(o.get());
  return DatasetReader(host, plugin).refusal(Code::io);
}

}  // namespace

TEST_SUITE("data/idx") {
  TEST_CASE("a folder with classic names gives both splits") {
    RecordingHost host;
    const TemporaryFolder folder;
    folder.write("train-images-idx3-ubyte", {3, 2, 2}, "aaaabbbbcccc");
    folder.write("train-labels-idx1-ubyte", {3}, std::string("\0\2\1", 3));
    folder.write("t10k-images-idx3-ubyte", {2, 2, 2}, "ddddeeee");
    folder.write("t10k-labels-idx1-ubyte", {2}, std::string("\4\0", 2));
    PluginOptions o;
    o.set("path", folder.path.string());
    idx::Idx plugin(o.get());
    DatasetReader data(host, plugin);
    REQUIRE(data.open() == Code::ok);
    CHECK(data.info.channels == 1);
    CHECK(data.info.height == 2);
    CHECK(data.info.train == 3);
    CHECK(data.info.eval == 2);
    CHECK(data.info.classes == 5);
    CHECK(data.info.mean[0] == doctest::Approx(0.1307 * 255).epsilon(1e-3));  // the figure PyTorch's examples use
    CHECK(data.info.stdev[0] == doctest::Approx(0.3081 * 255).epsilon(1e-3));
    check_dataset_contract(data, Split::train);
    check_dataset_contract(data, Split::eval);
    const Pictures p = data.read(Split::train, {1});
    CHECK(p.labels[0] == 2);
    CHECK(p.bytes == std::vector<unsigned char>{'b', 'b', 'b', 'b'});
    CHECK(data.name(Split::eval, 1) == "t10k-images-idx3-ubyte#1");
  }

  TEST_CASE("files of their own names, and one split alone, will do") {
    RecordingHost host;
    const TemporaryFolder folder;
    PluginOptions o;
    o.set("eval_images", folder.write("p", {1, 1, 3}, "xyz")).set("eval_labels", folder.write("l", {1}, "\3"));
    idx::Idx plugin(o.get());
    DatasetReader data(host, plugin);
    REQUIRE(data.open(spec(1, 1, 3, 10)) == Code::ok);
    CHECK(data.info.train == 0);
    CHECK(data.info.eval == 1);
    CHECK(data.info.classes == 10);
  }

  TEST_CASE("a label outside the experiment's classes is a fault of the file, and named") {
    RecordingHost host;
    const TemporaryFolder folder;
    PluginOptions o;
    const std::string labels = folder.write("l", {2}, std::string("\0\3", 2));
    o.set("train_images", folder.write("p", {2, 1, 1}, "xy")).set("train_labels", labels);
    idx::Idx fits(o.get()), narrow(o.get());
    CHECK(DatasetReader(host, fits).open(spec(1, 1, 1, 4)) == Code::ok);
    CHECK(DatasetReader(host, narrow).open(spec(1, 1, 1, 3)) == Code::io);
    CHECK(host.take() == labels + ": record 1 has label 3; the experiment has 3 classes");
  }

  TEST_CASE("what is missing or does not fit together is named") {
    RecordingHost host;
    const TemporaryFolder folder;
    const std::string pictures = folder.write("a-images-idx3-ubyte", {1, 1, 3}, "xyz");
    const std::string other = folder.write("b", {1, 3, 1}, "xyz");
    const std::string one = folder.write("one", {1}, "\3"), two = folder.write("two", {2}, "\3\3");
    PluginOptions nothing;
    CHECK(refusal(host, nothing).find("path is not set") == 0);
    PluginOptions empty;
    empty.set("path", folder.path.string());
    CHECK(refusal(host, empty).find(folder.path.string() + ": neither train-images-idx3-ubyte[.gz] nor") == 0);
    PluginOptions counts;
    counts.set("train_images", pictures).set("train_labels", two);
    CHECK(refusal(host, counts) == two + ": has 2 labels for the 1 pictures of " + pictures);
    PluginOptions alone;
    alone.set("train_images", pictures);
    CHECK(refusal(host, alone).find("its labels are missing beside it") != std::string::npos);
    PluginOptions beside;
    beside.set("path", pictures);
    CHECK(refusal(host, beside) == (folder.path / "a-labels-idx1-ubyte").string() + ": No such file or directory");
    PluginOptions sizes;
    sizes.set("train_images", pictures).set("train_labels", one).set("eval_images", other).set("eval_labels", one);
    CHECK(refusal(host, sizes) == other + ": its pictures are 1 x 3 x 1, those of " + pictures + " are 1 x 1 x 3");
  }

  TEST_CASE("MNIST is what it is known to be") {
    const auto shared = testing::shared_data();
    if (!shared) {
      MESSAGE("skipped: no shared data");
      return;
    }
    RecordingHost host;
    PluginOptions o;
    o.set("path", (*shared / "data" / "mnist").string());
    idx::Idx plugin(o.get());
    DatasetReader data(host, plugin);
    REQUIRE(data.open() == Code::ok);
    CHECK(data.info.height == 28);
    CHECK(data.info.width == 28);
    CHECK(data.info.classes == 10);
    CHECK(data.info.train == 10000);
    CHECK(data.info.eval == 10000);
    check_dataset_contract(data, Split::train);
    check_dataset_contract(data, Split::eval);
    CHECK(data.read(Split::train, upto(10)).labels == std::vector<int32_t>{5, 0, 4, 1, 9, 2, 1, 3, 1, 4});
    const Pictures test = data.read(Split::eval, upto(10000));
    std::vector<int> digits(10);
    for (int32_t label : test.labels) ++digits[static_cast<std::size_t>(label)];
    CHECK(digits == std::vector<int>{980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009});
    CHECK(std::accumulate(test.bytes.begin(), test.bytes.end(), int64_t{0}) == 264923200);
  }

  TEST_CASE("the broken files are refused with file and reason") {
    const auto shared = testing::shared_data();
    if (!shared) {
      MESSAGE("skipped: no shared data");
      return;
    }
    RecordingHost host;
    const std::string bad = (*shared / "data" / "mnist_bad").string() + "/";
    const std::string good = (*shared / "data" / "mnist").string() + "/";
    const std::string cut = bad + "cut_short-images-idx3-ubyte", magic = bad + "wrong_magic-images-idx3-ubyte",
                      count = bad + "label_count_differs-labels-idx1-ubyte",
                      pictures = good + "t10k-images-idx3-ubyte.gz", labels = good + "t10k-labels-idx1-ubyte.gz";
    for (const bool by_path : {false, true}) {
      PluginOptions o;
      if (by_path)
        o.set("path", cut);
      else
        o.set("train_images", cut).set("train_labels", labels);
      CHECK(refusal(host, o) == cut + ": cut short: its header promises 78400 bytes of data, the whole file "
                                      "has 5016 bytes");
    }
    PluginOptions wrong;
    wrong.set("path", magic);
    CHECK(refusal(host, wrong) == magic + ": begins with 0x00000801 (a file of labels), expected 0x00000803 (a file "
                                          "of pictures)");
    PluginOptions differs;
    differs.set("eval_images", pictures).set("eval_labels", count);
    CHECK(refusal(host, differs) == count + ": has 9999 labels for the 10000 pictures of " + pictures);
  }
}
