// What reaches log.txt and standard error.
#include "record/log.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <sstream>
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

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

/// "2026-01-31 12:00:00.123 rest" -> "@ rest"; other lines unchanged.
std::string without_time(const std::string& line) {
  constexpr std::string_view kPattern = "dddd-dd-dd dd:dd:dd.ddd ";
  if (line.size() < kPattern.size()) return line;
  for (std::size_t i = 0; i < kPattern.size(); ++i) {
    const bool digit = line[i] >= '0' && line[i] <= '9';
    if (kPattern[i] == 'd' ? !digit : line[i] != kPattern[i]) return line;
  }
  return "@ " + line.substr(kPattern.size());
}

std::vector<std::string> file_lines(const std::filesystem::path& path) {
  auto lines = lines_of(content_of(path));
  std::transform(lines.begin(), lines.end(), lines.begin(), without_time);
  return lines;
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
    CHECK(file_lines(folder / "log.txt").size() == 2);  // at once: the last line before a crash is there
    log.warning("data", "odd");
    log.info("", "plain {} %v");
    log.debug("runner", "detail \x1b[2J");
  }
  CHECK(content_of(folder / "stderr") == "error: cpu: broken\n  second line\nwarning: data: odd\n");
  CHECK(file_lines(folder / "log.txt") == std::vector<std::string>{"@ error: cpu: broken", "  second line",
                                                                   "@ warning: data: odd", "@ plain {} %v",
                                                                   "@ debug: runner: detail ?[2J"});
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
  const auto lines = file_lines(folder / "log.txt");
  CHECK(lines.size() == 3 * kLines);
  for (const char c : {'a', 'b', 'c'})
    CHECK(std::count(lines.begin(), lines.end(), "@ t: " + std::string(50, c)) == kLines);
}

TEST_CASE("a log file that cannot be opened is a storage error") {
  const ScratchFolder folder;
  ProgramLog log(LogLevel::error);
  CHECK_THROWS_AS(log.open_file(folder.path()), convoy::Error);
}

TEST_SUITE_END();
