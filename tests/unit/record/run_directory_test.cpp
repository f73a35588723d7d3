// Names of run directories, files that appear whole or not at all, and a disk that is full.
#include "record/run_directory.hpp"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/mount.h>

#include <set>
#include <thread>

#include "record/log.hpp"
#include "record/ndjson.hpp"
#include "record/safetensors.hpp"
#include "scratch_folder.hpp"

using namespace convoy;
using namespace convoy::record;
using namespace convoy::record::test;

namespace {

/// A file system of one MiB at a folder, seen by this process only.
class SmallDisk {
 public:
  explicit SmallDisk(std::filesystem::path at) : at_(std::move(at)) {
    mounted_ = ::unshare(CLONE_NEWNS) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
               ::mount("tmpfs", at_.c_str(), "tmpfs", 0, "size=1m") == 0;
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  ~SmallDisk() {
    if (mounted_) ::umount2(at_.c_str(), MNT_DETACH);
  }
  bool mounted() const { return mounted_; }

 private:
  std::filesystem::path at_;
  bool mounted_ = false;
};

template <class Action>
Error error_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return Error(ErrorKind::bug, "no error");
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_SUITE_BEGIN("record");

TEST_CASE("run names become file names") {
  CHECK(sanitized_run_name("resnet50-ring_v1.5") == "resnet50-ring_v1.5");
  CHECK(sanitized_run_name("a b/c\\d\n") == "a-b-c-d-");
  CHECK(sanitized_run_name("../../etc") == "etc");
  CHECK(sanitized_run_name("-rf") == "rf");
  CHECK(sanitized_run_name("") == "run");
  CHECK(sanitized_run_name("...") == "run");
  CHECK(sanitized_run_name(std::string(500, 'x')).size() == 100);
}

TEST_CASE("a run directory is named after run and time, and the paths in it are the documented ones") {
  const ScratchFolder folder;
  std::tm when{};
  when.tm_year = 126, when.tm_mon = 0, when.tm_mday = 31, when.tm_hour = 9, when.tm_min = 5, when.tm_sec = 7;
  when.tm_isdst = -1;
  const std::time_t now = std::mktime(&when);
  const auto first = RunDirectory::create(folder / "new/runs", "my run", now);
  const auto second = RunDirectory::create(folder / "new/runs", "my run", now);
  CHECK(first.root() == folder / "new/runs/my-run-20260131-090507");
  CHECK(second.root() == folder / "new/runs/my-run-20260131-090507-2");
  CHECK(std::filesystem::is_directory(first.checkpoints()));
  CHECK(first.resolved_toml().filename() == "resolved.toml");
  CHECK(first.manifest().filename() == "manifest.json");
  CHECK(first.metrics().filename() == "metrics.ndjson");
  CHECK(first.results().filename() == "results.csv");
  CHECK(first.summary().filename() == "summary.json");
  CHECK(first.log().filename() == "log.txt");
  CHECK(first.report().filename() == "report.html");
  CHECK(first.checkpoints().filename() == "checkpoints");
  CHECK(first.summary().parent_path() == first.root());
}

TEST_CASE("runs that start at the same moment get directories of their own") {
  const ScratchFolder folder;
  constexpr std::size_t kThreads = 8;
  constexpr std::size_t kRuns = 10;
  std::vector<std::vector<std::string>> roots(kThreads);
  std::vector<std::thread> threads;
  for (auto& mine : roots) {
    threads.emplace_back([&mine, &folder] {
      for (std::size_t i = 0; i < kRuns; ++i) mine.push_back(RunDirectory::create(folder.path(), "r", 0).root());
    });
  }
  for (auto& thread : threads) thread.join();
  std::set<std::string> distinct;
  for (const auto& mine : roots) distinct.insert(mine.begin(), mine.end());
  CHECK(distinct.size() == kThreads * kRuns);
}

TEST_CASE("a folder that cannot be made is a storage error with its path and the system's words") {
  const ScratchFolder folder;
  put(folder / "file", "");
  const Error error = error_of([&] { RunDirectory::create(folder / "file/runs", "r"); });
  CHECK(error.exit_code() == 7);
  CHECK(contains(error.what(), (folder / "file/runs").string()));
  CHECK(contains(error.what(), "Not a directory"));
}

TEST_CASE("a file appears whole on commit, and not at all without") {
  const ScratchFolder folder;
  write_atomic(folder / "x", "old");
  {
    AtomicFile file(folder / "x");
    file.write("new, but never finished");
    CHECK(content_of(folder / "x") == "old");
  }
  CHECK(content_of(folder / "x") == "old");
  write_atomic(folder / "x", std::string("new\0text", 8));
  CHECK(content_of(folder / "x") == std::string("new\0text", 8));
  CHECK(entries_in(folder.path()) == 1);
  const Error error = error_of([&] { write_atomic(folder / "absent/x", "text"); });
  CHECK(error.kind() == ErrorKind::storage);
  CHECK(contains(error.what(), "absent/x: No such file or directory"));
  CHECK(error_of([&] { write_atomic(folder.path(), "text"); }).kind() == ErrorKind::storage);
}

TEST_CASE("a name as long as names get can be written atomically") {
  const ScratchFolder folder;
  write_atomic(folder / std::string(255, 'n'), "text");
  CHECK(content_of(folder / std::string(255, 'n')) == "text");
}

TEST_CASE("a full disk is a storage error, and costs nothing that was there") {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder / "disk");
  const SmallDisk disk(folder / "disk");
  if (!disk.mounted()) {
    MESSAGE("skipped: mounting a small file system needs root");
    return;
  }
  const auto file = [&](const char* name) { return folder / "disk" / name; };
  const std::vector<float> weights(100'000, 1.0f);
  write_safetensors(file("w"), std::vector{f32_source("w", {100'000}, weights)});
  NdjsonWriter metrics(file("metrics.ndjson"));
  metrics.append(Record().add("step", 1));
  ProgramLog log(LogLevel::error);
  log.open_file(file("log.txt"));
  log.info("test", "one line");
  CHECK(log.lost_lines() == 0);

  SUBCASE("an atomic file leaves the old one and no rest of the new one") {
    const std::string before = content_of(file("w"));
    const std::vector<float> larger(200'000, 2.0f);
    const Error error =
        error_of([&] { write_safetensors(file("w"), std::vector{f32_source("w", {200'000}, larger)}); });
    CHECK(error.exit_code() == 7);
    CHECK(contains(error.what(), file("w").string() + ": No space left on device"));
    CHECK(contains(error.render(), "--out"));
    CHECK(content_of(file("w")) == before);
    CHECK(entries_in(folder / "disk") == 3);
  }
  SUBCASE("a growing file keeps whole lines, and goes on when there is space again") {
    const Record large = Record().add("text", std::string(100'000, 'x'));
    const Error error = error_of([&] {
      for (int i = 0; i < 100; ++i) metrics.append(large);
    });
    CHECK(error.exit_code() == 7);
    CHECK(contains(error.what(), "metrics.ndjson: No space left on device"));
    CHECK(content_of(file("metrics.ndjson")).back() == '\n');
    std::filesystem::remove(file("w"));
    metrics.append(Record().add("step", 2));
    CHECK(content_of(file("metrics.ndjson")).ends_with("}\n{\"step\":2}\n"));
    CHECK(NdjsonWriter(file("metrics.ndjson")).repaired_bytes() == 0);
  }
  SUBCASE("the log counts what it lost and throws nothing") {
    put(file("rest"), std::string(1'000'000, 'x'));  // takes what there is
    for (int i = 0; i < 100; ++i) log.info("test", std::string(1000, 'y'));
    CHECK(log.lost_lines() > 0);
  }
}

TEST_SUITE_END();
