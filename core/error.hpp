// What core throws: one kind per exit code, a message number where design tables have one, and notes.
// Side-local: it never crosses the plugin border (there a Code does, with a message left at the host).
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace convoy {

/// Whose fault it is. The values are the program's exit codes (DESIGN: 0 done, 75 stopped on request).
enum class ErrorKind {
  bug = 1,
  usage = 2,      // command line or experiment file
  data = 3,       // dataset or weight files
  plugin = 4,     // plugin or device
  numerics = 5,   // not finite, diverged, replicas drifted
  peer = 6,       // rank lost or timed out
  storage = 7,    // results could not be written
};

/// A place in a text file; line and column count from 1, 0 = unknown.
struct Position {
  std::string file;
  int line = 0;
  int column = 0;
};

/// "file:line:column", shorter where parts are unknown, empty where all are.
inline std::string to_string(const Position& at) {
  std::string out = at.file;
  if (at.line > 0) out += ":" + std::to_string(at.line);
  if (at.line > 0 && at.column > 0) out += ":" + std::to_string(at.column);
  return out;
}

/// One labelled line below a message: ("known", "cpu, reference"), ("fix", "did you mean 'cpu'?").
using ErrorNote = std::pair<std::string, std::string>;

/// `what()` is the bare sentence; `number` is "P101" and the like, or empty.
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, std::string number = {},
        std::vector<ErrorNote> notes = {})
      : std::runtime_error(message), kind_(kind), number_(std::move(number)), notes_(std::move(notes)) {}

  ErrorKind kind() const { return kind_; }
  int exit_code() const { return static_cast<int>(kind_); }
  const std::string& number() const { return number_; }
  const std::vector<ErrorNote>& notes() const { return notes_; }

  /// Adds a line and returns itself, for `throw Error(...).note("fix", "...")`.
  Error& note(std::string label, std::string text) & {
    notes_.emplace_back(std::move(label), std::move(text));
    return *this;
  }
  Error&& note(std::string label, std::string text) && {
    notes_.emplace_back(std::move(label), std::move(text));
    return std::move(*this);
  }

  /// "error[P101]: sentence\n  known  a, b\n  fix    write a": what tools print on stderr.
  std::string render() const {
    std::string out = number_.empty() ? "error: " : "error[" + number_ + "]: ";
    out += what();
    for (const auto& [label, text] : notes_)
      out += "\n  " + label + std::string(label.size() < 7 ? 7 - label.size() : 1, ' ') + text;
    return out;
  }

 private:
  ErrorKind kind_;
  std::string number_;
  std::vector<ErrorNote> notes_;
};

}  // namespace convoy
