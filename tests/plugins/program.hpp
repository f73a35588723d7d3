// Runs the built program as a user would: arguments, working directory, environment; output and exit code come back.
#pragma once

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace convoy::testing {

struct Outcome {
  int exit_code = -1;  // -1: ended by a signal
  std::string text;    // standard output and standard error together
};

inline bool has(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

class Program {
 public:
  explicit Program(std::filesystem::path file = std::filesystem::path(CONVOY_BUILD_DIR) / "bin" / "runner") : file_(std::move(file)) {}

  Program& in(const std::filesystem::path& folder) { return folder_ = folder, *this; }
  Program& with(const std::string& variable, const std::string& value) { return variables_.emplace_back(variable, value), *this; }

  Outcome run(const std::vector<std::string>& arguments) const {
    REQUIRE_MESSAGE(std::filesystem::exists(file_), file_.string() << " was not built");
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) become(arguments, ends[1]);
    close(ends[1]);
    Outcome out;
    std::array<char, 4096> piece;
    for (ssize_t n; (n = read(ends[0], piece.data(), piece.size())) > 0;) out.text.append(piece.data(), static_cast<std::size_t>(n));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFEXITED(status)) out.exit_code = WEXITSTATUS(status);
    return out;
  }

 private:
  [[noreturn]] void become(const std::vector<std::string>& arguments, int out) const {
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    close(out);
    unsetenv("CONVOY_PLUGIN_PATH");  // of whoever runs the tests
    for (const auto& [name, value] : variables_) setenv(name.c_str(), value.c_str(), 1);
    if (!folder_.empty() && chdir(folder_.c_str()) != 0) _exit(126);
    std::vector<char*> argv{const_cast<char*>(file_.c_str())};
    for (const auto& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    execv(file_.c_str(), argv.data());
    _exit(127);
  }

  std::filesystem::path file_, folder_;
  std::vector<std::pair<std::string, std::string>> variables_;
};

}  // namespace convoy::testing
