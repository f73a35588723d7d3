// Tests of the data plugin `image_folder`: folders and lists, what is skipped and what ends a run, repeatable pictures.
#include "image_folder.hpp"

#include <convoy/abi/skipped_samples.hpp>

#include <filesystem>
#include <fstream>
#include <memory>

#include <sys/stat.h>
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

// A gray PNG of one pixel, value 7.
constexpr unsigned char kPng[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00, 0x00, 0x3a, 0x7e, 0x9b,
    0x55, 0x00, 0x00, 0x00, 0x0a, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0x60, 0x07, 0x00, 0x00,
    0x09, 0x00, 0x08, 0x8d, 0xab, 0xb9, 0x01, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae,
    0x42, 0x60, 0x82,
};

/// A folder that is gone when it goes out of scope.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "convoy-images-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << text;
  }
  void picture(const std::string& name) const { write(name, {reinterpret_cast<const char*>(kPng), sizeof(kPng)}); }
};

/// A plugin and its reader, made with `path` and whatever else is set.
struct Opened {
  RecordingHost& host;
  PluginOptions options;
  std::unique_ptr<image_folder::ImageFolder> plugin;
  std::unique_ptr<DatasetReader> data;

  explicit Opened(RecordingHost& h, const fs::path& path) : host(h) { options.set("path", path.string()); }
  DatasetReader& make() {
    plugin = std::make_unique<image_folder::ImageFolder>(options.get());
    data = std::make_unique<DatasetReader>(host, *plugin);
    return *data;
  }
  DatasetReader& open(uint32_t side) {
    make();
    const Code c = data->open(spec(0, side, side));
    if (c != Code::ok) FAIL(host.take());
    return *data;
  }
};

std::string refusal(const fs::path& path) {
  RecordingHost host;
  Opened o(host, path);
  return o.make().refusal(Code::io, spec(0, 8, 8));
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A host that keeps skipped samples too.
struct SkippingHost final : ISkippedSamples {
  std::mutex mutex;
  std::vector<std::string> lines;
  void* query(const char*) noexcept override { return nullptr; }
  void destroy() noexcept override {}
  void add(Split, uint64_t sample, Str file, Str reason) noexcept override {
    const std::lock_guard lock(mutex);
    lines.push_back(std::to_string(sample) + " " + sdk::text(file) + ": " + sdk::text(reason));
  }
};

/// Passes everything to the recording host, and offers the list of skipped samples.
struct HostWithSkipped final : IHost {
  RecordingHost& inner;
  ISkippedSamples& skipped;
  HostWithSkipped(RecordingHost& h, ISkippedSamples& s) : inner(h), skipped(s) { sdk::host_slot() = this; }
  ~HostWithSkipped() { sdk::host_slot() = &inner; }
  void* query(const char* id) noexcept override {
    return std::string(id) == ISkippedSamples::id ? &skipped : nullptr;
  }
  void destroy() noexcept override {}
  void log(uint32_t l, Str w, Str m) noexcept override { inner.log(l, w, m); }
  Code fail(Code c, Str w, Str m) noexcept override { return inner.fail(c, w, m); }
  void fail_async(Code c, Str w, Str m) noexcept override { inner.fail_async(c, w, m); }
  uint32_t abi_minor() noexcept override { return inner.abi_minor(); }
};

}  // namespace

TEST_SUITE("data/image_folder") {
  TEST_CASE("class folders are sorted, files too, deeper folders belong to their class, other files do not count") {
    const Folder f;
    for (const char* name : {"train/b/2.PNG", "train/b/10.jpeg", "train/a/deep/er/x.png", "train/a/z.jpg", "val/b/q.png"})
      f.picture(name);
    f.write("train/a/readme.txt", "no picture");
    f.write("train/a/.hidden.png", "no picture");
    f.write("train/a/movie.gif", "another kind");
    f.write("train/list.png", "not in a class");
    RecordingHost host;
    Opened o(host, f.path);
    DatasetReader& data = o.open(8);
    CHECK(data.info.train == 4);
    CHECK(data.info.eval == 1);
    CHECK(data.info.classes == 2);
    CHECK(data.info.channels == 3);
    CHECK(data.name(Split::train, 0) == "train/a/deep/er/x.png");
    CHECK(data.name(Split::train, 2) == "train/b/10.jpeg");
    const Pictures all = data.read(Split::train, upto(4));
    CHECK(all.labels == std::vector<int32_t>{0, 0, 1, 1});
    CHECK(all.bytes == std::vector<unsigned char>(4 * 3 * 64, 7));
    CHECK(data.read(Split::eval, {0}).labels == std::vector<int32_t>{1});
    check_dataset_contract(data, Split::train);
  }

  TEST_CASE("lists name files and labels, spaces in names included; classes.txt bounds the labels") {
    const Folder f;
    f.picture("some where/x.png");
    f.picture("y.png");
    f.write("classes.txt", "one\r\ntwo\r\nthree\r\n");
    f.write("train.txt", "some where/x.png 2\n\ny.png\t0");
    f.write("held.txt", "y.png 1\n");
    RecordingHost host;
    Opened o(host, f.path);
    o.options.set("eval", "held.txt");
    DatasetReader& data = o.open(4);
    CHECK(data.info.classes == 3);
    CHECK(data.read(Split::train, {0, 1}).labels == std::vector<int32_t>{2, 0});
    CHECK(data.name(Split::train, 0) == "some where/x.png");
    CHECK(data.read(Split::eval, {0}).labels == std::vector<int32_t>{1});
    f.write("train.txt", "y.png 3\n");
    CHECK(has(refusal(f.path), "train.txt: line 1: label 3; there are 3 classes"));
  }

  TEST_CASE("folders and lists that cannot be used are refused with place and reason") {
    const Folder f;
    const std::string path = f.path.string();
    CHECK(refusal(path + "/gone") == path + "/gone: No such file or directory");
    CHECK(has(refusal(path), path + ": holds neither train/, val/ or test/"));
    f.write("train.txt", "no label here\n");
    CHECK(has(refusal(path), "train.txt: line 1: \"FILE LABEL\" is expected"));
    f.write("train.txt", "ok.png 0\n../../etc/passwd.png 0\n");
    CHECK(has(refusal(path), "train.txt: line 2: the file must lie inside"));
    f.write("train.txt", "/etc/x.png 0\n");
    CHECK(has(refusal(path), "relative"));
    f.write("train.txt", "x.png 99999999999999999999\n");
    CHECK(has(refusal(path), "line 1"));
    fs::create_directories(f.path / "train" / "empty");
    CHECK(has(refusal(path), "train: holds no pictures"));
    f.picture("train/a/1.png");
    f.picture("test/b/1.png");
    CHECK(has(refusal(path), "test/b: is a class that train does not have; known are a, empty"));
  }

  TEST_CASE("a bad picture within the bounds is replaced in training, does not count in evaluation, and is reported once") {
    const Folder f;
    for (int i = 0; i < 10; ++i) {
      f.picture("train/" + std::to_string(i) + "/x.png");
      f.picture("test/" + std::to_string(i) + "/x.png");
    }
    f.write("train/3/x.png", "text");
    f.write("test/9/x.png", "");
    RecordingHost host;
    SkippingHost skipped;
    const HostWithSkipped both(host, skipped);
    Opened o(host, f.path);
    o.options.set("max_bad", 0.1);
    DatasetReader& data = o.open(4);
    for (int again = 0; again < 2; ++again) {
      CHECK(data.read(Split::train, upto(10)).labels == std::vector<int32_t>{0, 1, 2, 4, 4, 5, 6, 7, 8, 9});
      CHECK(data.read(Split::eval, upto(10)).labels == std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, -1});
    }
    CHECK(data.read(Split::eval, {9}).bytes == std::vector<unsigned char>(48, 0));
    CHECK(skipped.lines == std::vector<std::string>{"3 " + (f.path / "train/3/x.png").string() + ": neither JPEG nor PNG",
                                                    "9 " + (f.path / "test/9/x.png").string() + ": is empty"});
  }

  TEST_CASE("beyond the bounds, or with none wanted, the run ends with file and reason") {
    const Folder f;
    for (int i = 0; i < 100; ++i) f.picture("train/a/" + std::to_string(100 + i) + ".png");
    fs::remove(f.path / "train/a/150.png");
    f.write("train/a/140.png", "text");
    fs::create_directories(f.path / "train/a/150.png");  // a folder
    fs::remove(f.path / "train/a/160.png");
    REQUIRE(::mkfifo((f.path / "train/a/160.png").c_str(), 0600) == 0);  // must not be waited for
    RecordingHost host;
    const auto failing = [&](double share, const char* policy) {
      Opened o(host, f.path);
      o.options.set("max_bad", share).set("on_bad", policy);
      DatasetReader& data = o.open(4);
      Pictures ignored;
      const Code c = data.try_read(ignored, Split::train, upto(100));
      return c == Code::ok ? "ok" : c == Code::io ? host.take() : "another code";
    };
    CHECK(failing(0.03, "skip") == "ok");
    CHECK(has(failing(0.02, "skip"), "train/a/160.png: not a regular file (bad picture 3 of the 100 in train; 2 are"));
    CHECK(has(failing(0.001, "skip"), "train/a/140.png: neither JPEG nor PNG (bad picture 1 of"));
    CHECK(has(failing(1.0, "stop"), "train/a/140.png: neither"));
  }

  TEST_CASE("too many in a row end the run, however many are allowed in all") {
    const Folder f;
    for (int i = 0; i < 30; ++i) f.write("train/a/" + std::to_string(100 + i) + ".png", "");
    f.picture("train/a/999.png");
    RecordingHost host;
    Opened o(host, f.path);
    o.options.set("max_bad", 1.0).set("max_bad_in_a_row", 20);
    DatasetReader& data = o.open(4);
    Pictures ignored;
    CHECK(data.try_read(ignored, Split::train, {0}) == Code::io);
    CHECK(has(host.take(), "120.png: is empty (21 bad pictures in a row"));
  }

  TEST_CASE("photographs: the counts, the contract, and the same pictures for the same seed, epoch and sample") {
    const auto shared = testing::shared_data();
    if (!shared) {
      MESSAGE("skipped: no shared data");
      return;
    }
    RecordingHost host;
    Opened o(host, *shared / "data" / "photos");
    DatasetReader& data = o.open(96);
    CHECK(data.info.train == 281);
    CHECK(data.info.eval == 276);
    CHECK(data.info.classes == 6);
    CHECK(data.name(Split::train, 0) == "train/Banana/Banana_001.jpg");
    check_dataset_contract(data, Split::train, 32);
    check_dataset_contract(data, Split::eval, 32);
    const auto augmented = [&](uint64_t seed, uint64_t epoch) { return data.read(Split::train, upto(16), seed, epoch, true); };
    CHECK(augmented(1, 2) == augmented(1, 2));
    CHECK(augmented(1, 2).bytes != augmented(1, 3).bytes);
    CHECK(augmented(1, 2).bytes != augmented(2, 2).bytes);
    CHECK(data.read(Split::eval, upto(16), 1, 0, true) == data.read(Split::eval, upto(16)));

    Opened uncached(host, *shared / "data" / "photos");
    uncached.options.set("cache_mb", 0);
    DatasetReader& fresh = uncached.open(96);
    CHECK(fresh.read(Split::train, upto(16), 1, 2, true) == augmented(1, 2));

    Opened by_list(host, *shared / "data" / "photos");
    by_list.options.set("train", "train.txt").set("eval", "test.txt");
    DatasetReader& listed = by_list.open(96);
    CHECK(listed.info.train == 281);
    CHECK(listed.read(Split::eval, {0, 100, 275}) == data.read(Split::eval, {0, 100, 275}));
  }

  TEST_CASE("evaluation's pictures are Pillow's: shorter side to 110, the middle 96") {
    const auto shared = testing::shared_data();
    if (!shared) {
      MESSAGE("skipped: no shared data");
      return;
    }
    const Folder f;
    fs::create_directories(f.path / "test" / "odd");
    fs::copy(*shared / "data" / "odd_images" / "png_named.JPEG", f.path / "test" / "odd" / "1.jpg");
    RecordingHost host;
    Opened o(host, f.path);
    const Pictures p = o.open(96).read(Split::eval, {0});
    uint64_t h = 0xcbf29ce484222325u;  // FNV-1a
    for (unsigned char b : p.bytes) h = (h ^ b) * 0x100000001b3u;
    CHECK(h == 0x03db74a93495ff2du);  // of the same bytes, planes one after the other, by Pillow 13.0.0
  }
}
