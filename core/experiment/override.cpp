// `--set table.key=value`: one value of the experiment replaced before it is checked.
// Not a check of the key: an unknown one is refused where the tables are read, under the position "--set table.key".
#include "experiment/experiment.hpp"
#include "experiment/toml_reader.hpp"
#include "experiment/toml_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::experiment {

namespace {

/// Reads "a.b.\"c d\"" in front of the '='.
class Assignment {
 public:
  explicit Assignment(const std::string& text) : text_(text) {
    do parts_.push_back(part());
    while (skip('.'));
    if (!skip('=')) refuse("key=value is expected");
    if (!is_plain_text(text_.substr(0, at_ - 1))) refuse("the key is no UTF-8 text");  // with any '=' in quotes
    if (parts_.size() < 2)
      refuse(fmt::format("'{}' names no key of a table: each key is set on its own, as table.key", parts_[0]), fmt::format("--set {}.KEY=VALUE", printable(parts_[0])));
    if (static_cast<int>(parts_.size()) > kDeepestNesting) refuse("the key has too many parts");
  }

  [[noreturn]] void refuse(const std::string& why, const std::string& fix = "--set optimizer.lr=0.05") const {
    throw Error(ErrorKind::usage, fmt::format("--set {}: {}", printable(text_), printable(why))).note("fix", fix);
  }

  const std::vector<std::string>& parts() const { return parts_; }
  std::string source() const { return "--set " + text_.substr(0, at_ - 1); }
  std::string value() const { return text_.substr(at_); }

 private:
  static constexpr const char* kSpace = " \t";

  bool skip(char wanted) {
    at_ = std::min(text_.find_first_not_of(kSpace, at_), text_.size());
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  std::string part() {
    for (const char quote : {'"', '\''}) {
      if (!skip(quote)) continue;
      const std::size_t end = text_.find(quote, at_);
      if (end == text_.npos) refuse("a quote in the key is not closed");
      const std::string name = text_.substr(at_, end - at_);
      at_ = end + 1;
      return name;
    }
    const std::size_t end = std::min(text_.find_first_of(".= \t\"'", at_), text_.size());
    const std::string name = text_.substr(at_, end - at_);
    if (name.empty()) refuse("a part of the key is empty");
    at_ = end;
    return name;
  }

  const std::string& text_;
  std::size_t at_ = 0;
  std::vector<std::string> parts_;
};

}  // namespace

void apply_override(ConfigTable& config, const std::string& assignment) {
  const Assignment a(assignment);
  const Position at{a.source(), 0, 0};
  ConfigValue value = parse_override_value(a.value(), at.file);
  ConfigTable* table = &config;
  for (std::size_t i = 0; i + 1 < a.parts().size(); ++i) {
    const std::string& part = a.parts()[i];
    if (table->find(part) == nullptr) table->set(part, at, {ConfigTable{}, at});
    ConfigEntry* e = table->find(part);
    auto* inner = std::get_if<ConfigTable>(&e->value.data);
    if (inner == nullptr) a.refuse(fmt::format("'{}' is {}, not a table", part, kind_text(e->value)));
    table = inner;
  }
  table->set(a.parts().back(), at, std::move(value));
}

}  // namespace convoy::experiment
