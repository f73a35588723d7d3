#include "experiment/toml_text.hpp"

#include "error.hpp"
#include "experiment/toml_reader.hpp"

#include <fmt/format.h>

namespace convoy::experiment {

namespace {

/// Walks the text with just enough of TOML's grammar to know what is inside a string or a comment.
class Scanner {
 public:
  Scanner(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  void run() {
    if (text_.substr(0, 3) == "\xEF\xBB\xBF") at_ = 3;
    while (at_ < text_.size()) step();
  }

 private:
  enum class In { code, comment, basic, literal, basic_block, literal_block };

  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::usage, fmt::format("{}:{}:{}: {}", source_, line_, column_, why));
  }

  unsigned char here(std::size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? static_cast<unsigned char>(text_[at_ + ahead]) : 0;
  }

  bool starts(std::string_view s) const { return text_.substr(at_, s.size()) == s; }

  void advance(std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
      column_ = here() == '\n' ? 1 : column_ + 1;
      line_ += here() == '\n' ? 1 : 0;
      ++at_;
    }
  }

  void step() {
    const unsigned char c = here();
    check_control(c);
    if (c >= 0x80) {
      const std::size_t n = character_length();
      if (in_ == In::code)
        refuse(fmt::format("'{}' stands outside a string or comment; only ASCII is allowed there, names with other letters go in quotes",
                           text_.substr(at_, n)));
      column_ -= static_cast<int>(n) - 1;  // columns count characters
      return advance(n);
    }
    switch (in_) {
      case In::code: return step_code(c);
      case In::comment: return step_until(c == '\n', 1);
      case In::basic:
        if (c == '\\' && here(1) != '\n' && at_ + 1 < text_.size() && here(1) < 0x80) return skip_escape();
        return step_until(c == '"' || c == '\n', 1);
      case In::literal: return step_until(c == '\'' || c == '\n', 1);
      case In::basic_block:
        if (c == '\\' && at_ + 1 < text_.size() && here(1) < 0x80) return skip_escape();
        return step_until(starts("\"\"\""), 3);
      case In::literal_block: return step_until(starts("'''"), 3);
    }
  }

  void skip_escape() {
    advance(1);
    check_control(here());
    advance(1);
  }

  void step_code(unsigned char c) {
    if (c == '#') in_ = In::comment;
    // Each dot of a key is a table within a table: the parser bounds brackets, not these.
    if (c == '\n' || c == '=' || c == ',' || c == '[' || c == '{') dots_ = 0;
    if (c == '.' && ++dots_ > kDeepestNesting) refuse(fmt::format("a key with more than {} dots", kDeepestNesting));
    for (const auto& [mark, in] : {std::pair<std::string_view, In>{"\"\"\"", In::basic_block}, {"'''", In::literal_block},
                                   {"\"", In::basic}, {"'", In::literal}})
      if (in_ == In::code && starts(mark)) {
        in_ = in;
        return advance(mark.size());
      }
    advance(1);
  }

  void step_until(bool end, std::size_t length) {
    if (end) in_ = In::code;
    advance(end ? length : 1);
  }

  void check_control(unsigned char c) const {
    const bool line_end = c == '\n' || (c == '\r' && here(1) == '\n');
    if ((c < 0x20 && c != '\t' && !line_end) || c == 0x7f)
      refuse(fmt::format("the control byte 0x{:02X} is not allowed", c));
  }

  /// Bytes of the UTF-8 character here. Refuses what is none: overlong, surrogate, too large, cut short.
  std::size_t character_length() const {
    const unsigned char c = here();
    const std::size_t n = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
    uint32_t code = c & (0xFF >> (n + 1));
    bool valid = c >= 0xC2 && c <= 0xF4;
    for (std::size_t i = 1; i < n; ++i) {
      valid = valid && (here(i) & 0xC0) == 0x80;
      code = code << 6 | (here(i) & 0x3F);
    }
    valid = valid && !(n == 3 && (code < 0x800 || (code >= 0xD800 && code <= 0xDFFF))) &&
            !(n == 4 && (code < 0x10000 || code > 0x10FFFF));
    if (!valid) refuse(fmt::format("the byte 0x{:02X} begins no valid UTF-8 character", c));
    return n;
  }

  std::string_view text_;
  const std::string& source_;
  std::size_t at_ = 0;
  int line_ = 1;
  int column_ = 1;
  int dots_ = 0;  // in the key being read
  In in_ = In::code;
};

}  // namespace

void check_toml_text(std::string_view text, const std::string& source) {
  if (text.size() > kLargestFile)
    throw Error(ErrorKind::usage, fmt::format("{}: the file has {} bytes; at most {} are read", source, text.size(), kLargestFile));
  Scanner(text, source).run();
}

}  // namespace convoy::experiment
