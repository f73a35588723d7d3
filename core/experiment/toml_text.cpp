#include "experiment/toml_text.hpp"

#include "error.hpp"
#include "experiment/toml_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace convoy::experiment {

namespace {

/// U+0000 to U+001F, U+007F to U+009F. `text` is not empty.
bool begins_with_control(std::string_view text) {
  const auto c = static_cast<unsigned char>(text[0]);
  return c < 0x20 || c == 0x7f || (c == 0xC2 && text.size() > 1 && static_cast<unsigned char>(text[1]) < 0xA0);
}

/// Walks the text with just enough of TOML's grammar to know what is inside a string or a comment.
class Scanner {
 public:
  Scanner(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  void run() {
    if (starts("\xEF\xBB\xBF")) at_ = 3;  // a byte order mark, which counts in no column
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

  /// Past `n` ASCII bytes.
  void advance(std::size_t n) {
    for (std::size_t i = 0; i < n && at_ < text_.size(); ++i) {
      column_ = here() == '\n' ? 1 : column_ + 1;
      line_ += here() == '\n' ? 1 : 0;
      ++at_;
    }
  }

  void step() {
    const unsigned char c = here();
    if (c >= 0x80) return step_character();
    check_control(c);
    switch (in_) {
      case In::code: return step_code(c);
      case In::comment: return step_until(c == '\n');
      case In::basic: return c == '\\' ? skip_escape() : step_until(c == '"' || c == '\n');
      case In::literal: return step_until(c == '\'' || c == '\n');
      case In::basic_block: return c == '\\' ? skip_escape() : step_block('"');
      case In::literal_block: return step_block('\'');
    }
  }

  void step_character() {
    const std::size_t bytes = utf8_length(text_.substr(at_));
    if (bytes == 0) refuse(fmt::format("the byte 0x{:02X} begins no valid UTF-8 character", here()));
    if (in_ == In::code)
      refuse(fmt::format("'{}' stands outside a string or comment; only ASCII is allowed there, names with other letters go in quotes",
                         printable(text_.substr(at_, bytes))));
    at_ += bytes;
    ++column_;  // columns count characters
  }

  /// A backslash and the quote or backslash behind it. Whatever else follows is seen by the next step.
  void skip_escape() { advance(here(1) == '"' || here(1) == '\\' ? 2 : 1); }

  void step_code(unsigned char c) {
    count_dots(c);
    static constexpr std::pair<std::string_view, In> kOpenings[] = {
        {"\"\"\"", In::basic_block}, {"'''", In::literal_block}, {"\"", In::basic}, {"'", In::literal}, {"#", In::comment}};
    for (const auto& [mark, in] : kOpenings) {
      if (!starts(mark)) continue;
      in_ = in;
      return advance(mark.size());
    }
    advance(1);
  }

  /// Each dot of a key is a table within a table: the parser bounds brackets, not these.
  void count_dots(unsigned char c) {
    if (c == '\n' || c == '=' || c == ',' || c == '[' || c == '{') dots_ = 0;
    if (c == '.' && ++dots_ >= kDeepestNesting) refuse(fmt::format("a key with {} dots or more", kDeepestNesting));
  }

  void step_until(bool end) {
    if (end) in_ = In::code;
    advance(1);
  }

  /// Up to two quotes may stand before the three that close a block: """"a"""" holds "a".
  void step_block(char quote) {
    std::size_t quotes = 0;
    while (quotes < 5 && here(quotes) == static_cast<unsigned char>(quote)) ++quotes;
    if (quotes >= 3) in_ = In::code;
    advance(std::max<std::size_t>(quotes, 1));
  }

  void check_control(unsigned char c) const {
    const bool line_end = c == '\n' || (c == '\r' && here(1) == '\n');
    if ((c < 0x20 || c == 0x7f) && c != '\t' && !line_end) refuse(fmt::format("the control byte 0x{:02X} is not allowed", c));
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

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  unsigned code = first & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3F);
  }
  static constexpr unsigned kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};  // by length: a smaller one is overlong
  const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
  return code >= kSmallest[bytes] && code <= 0x10FFFF && !surrogate ? bytes : 0;
}

bool is_plain_text(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = utf8_length(text);
    if (bytes == 0 || begins_with_control(text)) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t bytes = utf8_length(text);
    const auto last = static_cast<unsigned char>(text[bytes == 2 ? 1 : 0]);  // of a control character: its number
    if (bytes == 0)
      out += fmt::format("\\x{:02X}", last);
    else if (begins_with_control(text))
      out += fmt::format("\\u{:04X}", last);
    else
      out += text.substr(0, bytes);
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return out;
}

void check_toml_text(std::string_view text, const std::string& source) {
  if (text.size() > kLargestFile)
    throw Error(ErrorKind::usage, fmt::format("{}:1:1: the text has more than {} bytes, which is the most that is read", source, kLargestFile));
  Scanner(text, source).run();
}

}  // namespace convoy::experiment
