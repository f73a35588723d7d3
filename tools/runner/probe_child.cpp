#include "runner/probe_child.hpp"

#include "error.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>
#include <thread>

namespace convoy::runner {

namespace {

constexpr std::size_t kLongestAnswer = 1 << 20;  // bytes; a plugin that prints more is not answering

[[noreturn]] void become_child(const std::filesystem::path& program, const std::filesystem::path& file, int out) {
  setpgid(0, 0);                       // what it starts is ended with it
  prctl(PR_SET_PDEATHSIG, SIGKILL);    // and nothing outlives the program that asked
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  dup2(out, STDOUT_FILENO);
  const int null = open("/dev/null", O_RDWR);
  dup2(null, STDIN_FILENO);
  dup2(null, STDERR_FILENO);
  execl(program.c_str(), program.c_str(), "plugins", "--probe-one", file.c_str(), static_cast<char*>(nullptr));
  _exit(127);
}

using Deadline = std::chrono::steady_clock::time_point;

/// Reads until the end, or the deadline: false.
bool read_answer(int fd, Deadline deadline, std::string& out) {
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd p{fd, POLLIN, 0};
    const int ready = left.count() > 0 ? poll(&p, 1, static_cast<int>(left.count())) : 0;
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    char piece[4096];
    const ssize_t n = read(fd, piece, sizeof piece);
    if (n == 0) return true;
    if (n < 0 || out.size() > kLongestAnswer) return false;
    out.append(piece, static_cast<std::size_t>(n));
  }
}

/// Waits for the child's end, or the deadline: false. A child may close its output and stay.
bool wait_for(pid_t child, Deadline deadline, int& status) {
  constexpr std::chrono::milliseconds kPause{5};
  for (;;) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) return true;
    if (ended < 0 && errno != EINTR) return true;
    if (std::chrono::steady_clock::now() >= deadline) return false;
    std::this_thread::sleep_for(kPause);
  }
}

std::string signal_name(int signal) {
  const char* abbreviation = sigabbrev_np(signal);
  return abbreviation == nullptr ? fmt::format("signal {}", signal) : fmt::format("SIG{}", abbreviation);
}

struct Answer {
  std::string stage;  // the last one that it entered
  std::string json;   // empty where it did not get that far
};

Answer split_answer(const std::string& said) {
  Answer out{"its first steps", ""};
  std::istringstream in(said);
  for (std::string line; std::getline(in, line);) {
    if (line.rfind(kStageMark, 0) == 0) out.stage = line.substr(std::strlen(kStageMark));
    else out.json = line;
  }
  return out;
}

}  // namespace

ProbeOutcome probe_in_child(const std::filesystem::path& program, const std::filesystem::path& file, std::chrono::milliseconds limit) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) throw Error(ErrorKind::plugin, fmt::format("cannot probe: {}", std::strerror(errno)));
  const pid_t child = fork();
  if (child < 0) throw Error(ErrorKind::plugin, fmt::format("cannot probe: {}", std::strerror(errno)));
  if (child == 0) become_child(program, file, pipe_ends[1]);
  setpgid(child, child);  // here as well: whichever of the two is first
  close(pipe_ends[1]);
  const Deadline deadline = std::chrono::steady_clock::now() + limit;
  std::string said;
  int status = 0;
  const bool read_all = read_answer(pipe_ends[0], deadline, said);
  close(pipe_ends[0]);
  const bool ended = read_all && wait_for(child, deadline, status);
  if (!ended) {
    kill(-child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {}
  }
  const auto [stage, answer] = split_answer(said);
  ProbeOutcome out;
  if (!ended) {
    out.failure = fmt::format("no answer within {:g} s, last seen in {}", std::chrono::duration<double>(limit).count(), stage);
  } else if (WIFSIGNALED(status)) {
    out.failure = fmt::format("crashed: {} in {}", signal_name(WTERMSIG(status)), stage);
  } else if (answer.empty()) {
    out.failure = fmt::format("ended the process with exit code {} in {}", WEXITSTATUS(status), stage);
  } else {
    out.answered = true;
    out.json = answer;
  }
  return out;
}

}  // namespace convoy::runner
