// The text of the error that an action ends with, for comparing messages.
// Not for errors of other types than convoy::Error: those end the test.
#pragma once

#include "error.hpp"

#include <string>

namespace convoy::testing {

/// What tools would print, without "error: ": sentence, notes below it. Empty where nothing was refused, and
/// "wrong kind: ..." where the error is not of kind `kind`.
template <class Action>
std::string refusal(Action action, ErrorKind kind = ErrorKind::usage) {
  try {
    static_cast<void>(action());
  } catch (const Error& e) {
    const std::string text = e.render();
    const std::string bare = e.number().empty() ? text.substr(text.find(": ") + 2) : text;
    return e.kind() == kind ? bare : "wrong kind: " + bare;
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace convoy::testing
