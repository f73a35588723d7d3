// Fuzz target of experiment files. Each input is read three times: as a file, parsed and checked against plugins that
// are only schemas; as the schema of a plugin; and as the argument of --set. Whatever is accepted must be written and
// read back as the same; whatever is refused must be refused by an error that is the right one's fault and whose text
// a terminal can show.
#include "experiment/experiment.hpp"
#include "experiment/toml_reader.hpp"
#include "experiment/toml_text.hpp"
#include "unit/experiment/schemas.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

using namespace convoy;
using namespace convoy::experiment;

/// Not assert(): it must hold in every kind of build.
void require(bool holds) {
  if (!holds) std::abort();
}

void check_text(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    require(is_plain_text(line));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
}

template <class Action>
void accept_or_refuse(ErrorKind kind, Action action) {
  try {
    action();
  } catch (const Error& error) {
    require(error.kind() == kind);
    check_text(error.render());
  }
}

void check_experiment(const ConfigTable& config, testing::Schemas& schemas) {
  const Experiment e = make_experiment(config, "fuzz", schemas);
  const std::string text = to_toml(e);
  try {
    const Experiment again = make_experiment(parse_toml(text, "resolved"), "again", schemas);
    require(again == e && to_toml(again) == text);
  } catch (const Error&) {
    require(false);  // what was written must be readable
  }
}

void check_schema(const std::string& text) {
  const auto rules = parse_schema(text, "fuzz");
  for (const OptionRule& rule : rules) {
    require(!rule.key.empty() && (!rule.otherwise || is_allowed(rule, *rule.otherwise)));
    static_cast<void>(allowed_text(rule));
  }
  accept_or_refuse(ErrorKind::usage, [&] {  // refused only where an option must be given
    require(check_options(rules, {}, "fuzz", {}).size() == rules.size());
  });
}

void check_override(const std::string& assignment, testing::Schemas& schemas) {
  static const ConfigTable kBase = parse_toml("[run]\nepochs = 1\n[model]\nuse = 'every'\n", "base");
  ConfigTable config = kBase;
  apply_override(config, assignment);
  check_experiment(config, schemas);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static testing::Schemas schemas;
  const std::string text(reinterpret_cast<const char*>(data), size);
  accept_or_refuse(ErrorKind::usage, [&] { check_experiment(parse_toml(text, "fuzz"), schemas); });
  accept_or_refuse(ErrorKind::plugin, [&] { check_schema(text); });
  accept_or_refuse(ErrorKind::usage, [&] { check_override(text, schemas); });
  return 0;
}
