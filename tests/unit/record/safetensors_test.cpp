// The reader against files that are right and files that are wrong in one way each; the writer through the reader.
#include "record/safetensors.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "error.hpp"
#include "scratch_folder.hpp"

using namespace convoy;
using namespace convoy::record;
using namespace convoy::record::test;

namespace {

/// A file of a header and zeros behind it.
std::string file_bytes(const std::string& header, std::size_t data_bytes) {
  const std::uint64_t length = header.size();
  std::string out(sizeof length, '\0');
  std::memcpy(out.data(), &length, sizeof length);
  return out + header + std::string(data_bytes, '\0');
}

std::string refusal(const std::filesystem::path& path) {
  try {
    SafetensorsFile::open(path);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::data);
    CHECK(std::string(error.what()).find(path.string()) != std::string::npos);
    return error.render();
  }
  return "accepted";
}

std::string refusal_of_header(const std::string& header, std::size_t data_bytes) {
  const ScratchFolder folder;
  put(folder / "x.safetensors", file_bytes(header, data_bytes));
  return refusal(folder / "x.safetensors");
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<float> all_of(const SafetensorsFile& file, const std::string& name) {
  std::vector<float> out(file.at(name).elements());
  file.read_f32(name, out);
  return out;
}

template <class T>
TensorSource source_of(std::string name, TensorDtype dtype, const std::vector<T>& values) {
  return {std::move(name), dtype, {static_cast<std::int64_t>(values.size())}, std::as_bytes(std::span(values))};
}

}  // namespace

TEST_SUITE_BEGIN("record");

TEST_CASE("the shared safetensors files are read or refused as their names say") {
  const auto folder = shared_file("safetensors");
  if (!folder) {
    MESSAGE("skipped: no shared data");
    return;
  }
  const auto good = SafetensorsFile::open(*folder / "good_small.safetensors");
  CHECK(good.at("a").shape == std::vector<std::int64_t>{2, 3});
  CHECK(all_of(good, "a") == std::vector<float>{0, 1, 2, 3, 4, 5});
  CHECK(all_of(good, "b") == std::vector<float>{10, 11, 12, 13});

  const auto reason = [&](const char* name) { return refusal(*folder / name); };
  CHECK(contains(reason("bad_empty.safetensors"), "has 0 bytes"));
  CHECK(contains(reason("bad_five_bytes.safetensors"), "has 5 bytes"));
  CHECK(contains(reason("bad_header_longer_than_file.safetensors"), "claims 1000000 bytes"));
  CHECK(contains(reason("bad_data_cut_short.safetensors"), "cut short"));
  CHECK(contains(reason("bad_json.safetensors"), "not valid JSON"));
  CHECK(contains(reason("bad_size_not_shape.safetensors"), "has 20 bytes of data, but F32 [2, 3] needs 24"));
  CHECK(contains(reason("bad_overlap.safetensors"), "they overlap"));
}

TEST_CASE("a checkpoint from another tool is read whole") {
  const auto path = shared_file("checkpoint/resnet20_cifar10.safetensors");
  if (!path) {
    MESSAGE("skipped: no shared data");
    return;
  }
  const auto file = SafetensorsFile::open(*path);
  CHECK(file.tensors().size() == 97);
  std::uint64_t elements = 0;
  for (const auto& tensor : file.tensors()) {
    CHECK(tensor.dtype == TensorDtype::f32);
    elements += tensor.elements();
    for (const float value : all_of(file, tensor.name)) REQUIRE(std::isfinite(value));
  }
  CHECK(elements == 271'098);  // as the data's own description counts them
  CHECK(file.at("conv1.weight").shape == std::vector<std::int64_t>{16, 3, 3, 3});
  CHECK(file.metadata() == TensorMetadata{{"format", "pt"}});
}

TEST_CASE("a checkpoint from another tool is written again byte for byte") {
  const auto path = shared_file("checkpoint/resnet20_cifar10.safetensors");
  if (!path) {
    MESSAGE("skipped: no shared data");
    return;
  }
  const ScratchFolder folder;
  const auto file = SafetensorsFile::open(*path);
  std::vector<std::vector<float>> values;
  for (const auto& tensor : file.tensors()) values.push_back(all_of(file, tensor.name));
  std::vector<TensorSource> sources;
  for (const auto& tensor : file.tensors())
    sources.push_back(f32_source(tensor.name, tensor.shape, values[sources.size()]));
  write_safetensors(folder / "copy", sources, file.metadata());
  CHECK((content_of(folder / "copy") == content_of(*path)));  // in brackets: a failure must not print a megabyte
}

TEST_CASE("a header that breaks one rule is refused with that rule") {
  const auto tensor = [](const std::string& body) { return "{\"a\":{" + body + "}}"; };
  struct Case {
    std::string header;
    std::size_t data_bytes;
    std::string reason;
  };
  const std::string good = R"("dtype":"F32","shape":[2],"data_offsets":[0,8])";
  REQUIRE(refusal_of_header(tensor(good), 8) == "accepted");
  const std::string two_to_63 = "9223372036854775808";
  const std::vector<Case> cases = {
      {"", 0, "does not begin with '{'"},
      {"[]", 0, "does not begin with '{'"},
      {" {}", 0, "does not begin with '{'"},
      {"\xef\xbb\xbf{}", 0, "does not begin with '{'"},
      {std::string("{}\0", 3), 0, "NUL"},
      {"{}{}", 0, "not valid JSON"},
      {"{\"a\"}", 0, "not valid JSON"},
      {"{\"\xff\":{}}", 0, "not valid JSON"},
      {"{\"a\":1}", 0, "'a' is a number"},
      {"{\"a\":[]}", 0, "'a' is an array"},
      {"{\"a\":null}", 0, "'a' is null"},
      {tensor(""), 0, "no 'dtype'"},
      {tensor(R"("dtype":"F32","shape":[2])"), 8, "no 'data_offsets'"},
      {tensor(R"("dtype":"F32","data_offsets":[0,8])"), 8, "no 'shape'"},
      {tensor(good + R"(,"stride":[1])"), 8, "the field 'stride'"},
      {tensor(good + R"(,"dtype":"F32")"), 8, "'dtype' twice"},
      {tensor(R"("dtype":"F31","shape":[2],"data_offsets":[0,8])"), 8, "the type 'F31'"},
      {tensor(R"("dtype":4,"shape":[2],"data_offsets":[0,8])"), 8, "a number in 'dtype'"},
      {tensor(R"("dtype":"F32","shape":2,"data_offsets":[0,8])"), 8, "a number in 'shape'"},
      {tensor(R"("dtype":"F32","shape":[[2]],"data_offsets":[0,8])"), 8, "an array in 'shape'"},
      {tensor(R"("dtype":"F32","shape":[2.0],"data_offsets":[0,8])"), 8, "the number '2.0' in 'shape'"},
      {tensor(R"("dtype":"F32","shape":[-2],"data_offsets":[0,8])"), 8, "the number -2 in 'shape'"},
      {tensor(R"("dtype":"F32","shape":[1,1,1,1,1,1,1,1,2],"data_offsets":[0,8])"), 8, "more than 8 dimensions"},
      {tensor(R"("dtype":"F32","shape":[)" + two_to_63 + R"(],"data_offsets":[0,8])"), 8, "a dimension of"},
      {tensor(R"("dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0])"), 0, "larger than any file"},
      {tensor(R"("dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0])"), 0, "larger than any file"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[8,0])"), 8, "no range"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0])"), 8, "no range"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,4,8])"), 8, "more than two data_offsets"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[18446744073709551608,0])"), 8, "no range"},
      {tensor(R"("dtype":"F32","shape":[1048576],"data_offsets":[0,4])"), 4, "needs 4194304"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])"), 7, "cut short"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[0,8])"), 9, "1 bytes behind the last tensor"},
      {tensor(R"("dtype":"F32","shape":[2],"data_offsets":[4,12])"), 12, "a hole"},
      {R"({"a":{"dtype":"U8","shape":[8],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[8],"data_offsets":[4,12]}})",
       16, "they overlap"},  // the sum of the sizes is right
      {tensor(good).substr(0, tensor(good).size() - 1) + ",\"a\":{" + good + "}}", 8, "'a' stands there twice"},
      {"{\"a\\u001b[2J\":{" + good + "}}", 8, "control characters"},
      {"{\"a\\u009b2J\":{" + good + "}}", 8, "control characters"},
      {"{\"" + std::string(513, 'n') + "\":{" + good + "}}", 8, "has 513 bytes"},
      {R"({"__metadata__":{"a":1}})", 0, "a number for 'a'"},
      {R"({"__metadata__":{"a":{}}})", 0, "an object for 'a'"},
      {R"({"__metadata__":{"a":"1","a":"2"}})", 0, "stands there twice"},
      {R"({"__metadata__":[]})", 0, "'__metadata__' is an array"},
  };
  for (const auto& one : cases) {
    CAPTURE(one.header);
    const std::string got = refusal_of_header(one.header, one.data_bytes);
    CAPTURE(got);
    CHECK(contains(got, one.reason));
  }
}

TEST_CASE("deep nesting is refused without deep recursion") {
  const std::string deep = "{\"a\":" + std::string(1'000'000, '[');
  CHECK(contains(refusal_of_header(deep, 0), "'a' is an array"));
}

TEST_CASE("a header length near 2^64 is refused before anything is allocated") {
  const ScratchFolder folder;
  for (const std::uint64_t length : {~0ull, ~0ull - 7, 1ull << 63, 100'000'001ull}) {
    std::string bytes(64, ' ');
    std::memcpy(bytes.data(), &length, sizeof length);
    put(folder / "x", bytes);
    CHECK(contains(refusal(folder / "x"), "claims " + std::to_string(length)));
  }
}

TEST_CASE("valid rarities are read: no tensors, scalars, empty tensors, names of 512 bytes, padding") {
  const ScratchFolder folder;
  const std::string name(512, 'n');
  put(folder / "x", file_bytes("{\"s\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},\"" + name +
                                   "\":{\"dtype\":\"F32\",\"shape\":[0,9],\"data_offsets\":[4,4]}}   ", 4));
  const auto file = SafetensorsFile::open(folder / "x");
  CHECK(all_of(file, "s") == std::vector<float>{0});
  CHECK(all_of(file, name).empty());
  put(folder / "none", file_bytes("{}", 0));
  CHECK(SafetensorsFile::open(folder / "none").tensors().empty());
}

TEST_CASE("only regular files are opened, through symbolic links too") {
  const ScratchFolder folder;
  put(folder / "x", file_bytes("{}", 0));
  std::filesystem::create_symlink("x", folder / "link");
  CHECK(SafetensorsFile::open(folder / "link").tensors().empty());
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  CHECK(contains(refusal(folder / "pipe"), "not a regular file"));
  CHECK(contains(refusal(folder.path()), "not a regular file"));
  CHECK(contains(refusal(folder / "absent"), "No such file"));
}

TEST_CASE("what was written is read back bit for bit, names, shapes and metadata too") {
  const ScratchFolder folder;
  std::vector<float> weights(3 * 5);
  std::iota(weights.begin(), weights.end(), -7.5f);
  weights[3] = std::numeric_limits<float>::quiet_NaN();
  weights[4] = -0.0f;
  const std::vector<std::uint8_t> flags{1, 0, 1};
  const std::vector<std::int64_t> counters{1LL << 40};
  const TensorMetadata metadata{{"format", "pt"}, {"note", "\"quoted\"\n\xc3\xa9"}};
  write_safetensors(folder / "x", std::vector{source_of("flags", TensorDtype::boolean, flags),
                                              f32_source("w", {3, 5}, weights),
                                              source_of("batches", TensorDtype::i64, counters)},
                    metadata);
  const auto file = SafetensorsFile::open(folder / "x");
  CHECK(file.metadata() == metadata);
  REQUIRE(file.tensors().size() == 3);
  for (const auto& tensor : file.tensors()) CHECK(tensor.offset % dtype_bytes(tensor.dtype) == 0);
  CHECK(file.at("w").shape == std::vector<std::int64_t>{3, 5});
  const auto read = all_of(file, "w");
  CHECK(std::memcmp(read.data(), weights.data(), weights.size() * sizeof(float)) == 0);
  std::vector<std::int64_t> read_counters(1);
  file.read_bytes("batches", std::as_writable_bytes(std::span(read_counters)));
  CHECK(read_counters == counters);
  CHECK(entries_in(folder.path()) == 1);
}

TEST_CASE("half, bfloat16 and double tensors are widened or rounded to f32") {
  const ScratchFolder folder;
  const std::vector<std::uint16_t> half{0x3c00, 0xc000, 0x7bff, 0x0001, 0xfc00};
  const std::vector<std::uint16_t> brain{0x3f80, 0xc000, 0x7f7f, 0x0001};
  std::vector<double> wide(20'000);  // more than one piece of the conversion
  for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = 1.0 / (1.0 + static_cast<double>(i));
  write_safetensors(folder / "x", std::vector{source_of("half", TensorDtype::f16, half),
                                              source_of("brain", TensorDtype::bf16, brain),
                                              source_of("wide", TensorDtype::f64, wide)});
  const auto file = SafetensorsFile::open(folder / "x");
  CHECK(all_of(file, "half") ==
        std::vector<float>{1, -2, 65504, 0x1p-24f, -std::numeric_limits<float>::infinity()});
  CHECK(all_of(file, "brain") == std::vector<float>{1, -2, 0x1.fep127f, 0x1p-133f});
  const auto narrow = all_of(file, "wide");
  for (std::size_t i = 0; i < wide.size(); ++i) REQUIRE(narrow[i] == static_cast<float>(wide[i]));
}

TEST_CASE("a missing tensor, a wrong size and an integer tensor are refused with names and shapes") {
  const ScratchFolder folder;
  const std::vector<std::int64_t> counters{1, 2};
  const std::vector<float> weights(6);
  write_safetensors(folder / "x", std::vector{source_of("batches", TensorDtype::i64, counters),
                                              f32_source("conv1.weight", {2, 3}, weights)});
  const auto file = SafetensorsFile::open(folder / "x");
  std::vector<float> out(2);
  const auto reason = [&](const std::string& name) {
    try {
      file.read_f32(name, out);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::data);
      return error.render();
    }
    return std::string("accepted");
  };
  CHECK(contains(reason("conv1.wieght"), "nearest conv1.weight"));
  CHECK(contains(reason("conv1.weight"), "F32 [2, 3], 6 elements, but 2 are wanted"));
  CHECK(contains(reason("batches"), "I64 [2], and floating point numbers are wanted"));
}

TEST_CASE("a file may be overwritten while it is open, and keeps what it was for those who opened it") {
  const ScratchFolder folder;
  const std::vector<float> old_values(100, 1.0f);
  const std::vector<float> new_values(100, 2.0f);
  write_safetensors(folder / "x", std::vector{f32_source("w", {100}, old_values)});
  const auto before = SafetensorsFile::open(folder / "x");
  write_safetensors(folder / "x", std::vector{f32_source("w", {100}, new_values)});
  CHECK(all_of(before, "w") == old_values);
  CHECK(all_of(SafetensorsFile::open(folder / "x"), "w") == new_values);
}

TEST_CASE("a file that becomes shorter while it is open is an error, not a crash") {
  const ScratchFolder folder;
  const std::vector<float> values(100'000);
  write_safetensors(folder / "x", std::vector{f32_source("w", {100'000}, values)});
  const auto file = SafetensorsFile::open(folder / "x");
  std::filesystem::resize_file(folder / "x", 5'000);
  std::vector<float> out(100'000);
  CHECK_THROWS_WITH_AS(file.read_f32("w", out), doctest::Contains("became shorter"), Error);
}

TEST_CASE("the writer refuses what the reader would refuse, and leaves the old file") {
  const ScratchFolder folder;
  const std::vector<float> two(2);
  write_safetensors(folder / "x", std::vector{f32_source("w", {2}, two)});
  const std::string before = content_of(folder / "x");
  const std::vector<std::vector<TensorSource>> wrong = {
      {f32_source("w", {3}, two)},
      {f32_source("w", {2}, two), f32_source("w", {2}, two)},
      {f32_source("__metadata__", {2}, two)},
      {f32_source("a\x1b", {2}, two)},
      {f32_source("a\xff", {2}, two)},
      {f32_source(std::string(513, 'n'), {2}, two)},
      {f32_source("w", {1, 1, 1, 1, 1, 1, 1, 1, 2}, two)},
      {f32_source("w", {-2}, two)},
  };
  for (const auto& tensors : wrong) {
    CAPTURE(tensors[0].name);
    CHECK_THROWS_AS(write_safetensors(folder / "x", tensors), Error);
  }
  CHECK(content_of(folder / "x") == before);
  CHECK(entries_in(folder.path()) == 1);
}

TEST_CASE("a writer killed at any moment leaves a whole file, old or new") {
  const ScratchFolder folder;
  constexpr std::size_t kElements = 20'000;
  const auto save = [&](float value) {
    const std::vector<float> values(kElements, value);
    write_safetensors(folder / "x", std::vector{f32_source("first", {kElements}, values),
                                                f32_source("last", {kElements}, values)});
  };
  save(0);
  std::minstd_rand random(1);
  for (int kill = 0; kill < 40; ++kill) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (float value = 1;; ++value) save(value);
    }
    ::usleep(static_cast<useconds_t>(random() % 4000));
    ::kill(child, SIGKILL);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
    REQUIRE(WIFSIGNALED(status));  // it was still saving
    const auto file = SafetensorsFile::open(folder / "x");
    const auto first = all_of(file, "first");
    REQUIRE(first == std::vector<float>(kElements, first[0]));
    REQUIRE(all_of(file, "last") == first);
  }
}

TEST_SUITE_END();
