// What reaches log.txt and standard error.
#include "record/log.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <regex>
#include <thread>
#include <vector>

#include "error.hpp"
#include "scratch_folder.hpp"

using namespace convoy::record;
using namespace convoy::record::test;

namespace {

/// Standard error goes to a file while this lives.
class RedirectedError {
 public:
  explicit RedirectedError(const std::filesystem::path& path) : kept_(::dup(STDERR_FILENO)) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ::dup2(file, STDERR_FILENO);
    ::close(file);
  }
  RedirectedError(const RedirectedError&) = delete;
  RedirectedError& operator=(const RedirectedError&) = delete;
  ~RedirectedError() {
    std::fflush(stderr);
    ::dup2(kept_, STDERR_FILENO);
    ::close(kept_);
  }

 private:
  int kept_;
};

std::string without_times(const std::string& text) {
  static const std::regex kTime(R"((^|\n)\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}\.\d{3} )");
  return std::regex_replace(text, kTime, "$1@ ");
}

}  // namespace

TEST_SUITE_BEGIN("record");

TEST_CASE("grave messages go to standard error, all of them to the file") {
  const ScratchFolder folder;
  {
    const RedirectedError redirected(folder / "stderr");
    ProgramLog log(LogLevel::warning);
    log.info("runner", "before there is a file");
    log.open_file(folder / "log.txt");
    log.error("cpu", "broken\nsecond line\n");
    log.warning("data", "odd");
    log.info("", "plain {} %v");
    log.debug("runner", "detail \x1b[2J");
  }
  CHECK(content_of(folder / "stderr") == "error: cpu: broken\n  second line\nwarning: data: odd\n");
  CHECK(without_times(content_of(folder / "log.txt")) ==
        "@ error: cpu: broken\n  second line\n@ warning: data: odd\n@ plain {} %v\n@ debug: runner: detail ?[2J\n");
}

TEST_CASE("lines of several threads do not mix") {
  const ScratchFolder folder;
  constexpr int kLines = 200;
  {
    ProgramLog log(LogLevel::error);
    log.open_file(folder / "log.txt");
    std::vector<std::thread> threads;
    for (const char c : {'a', 'b', 'c'}) {
      threads.emplace_back([&log, c] {
        for (int i = 0; i < kLines; ++i) log.info("t", std::string(50, c));
      });
    }
    for (auto& thread : threads) thread.join();
    CHECK(log.lost_lines() == 0);
  }
  const std::string text = without_times(content_of(folder / "log.txt"));
  std::string rest = text;
  for (const char c : {'a', 'b', 'c'}) rest = std::regex_replace(rest, std::regex("@ t: " + std::string(50, c) + "\n"), "");
  CHECK(rest.empty());
  CHECK(text.size() == 3 * kLines * std::string("@ t: \n").size() + 3 * kLines * 50);
}

TEST_CASE("a log file that cannot be opened is a storage error") {
  const ScratchFolder folder;
  ProgramLog log(LogLevel::error);
  CHECK_THROWS_AS(log.open_file(folder.path()), convoy::Error);
}

TEST_SUITE_END();
