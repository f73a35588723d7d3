#include "experiment/schema.hpp"

#include "nearest.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace convoy::experiment {

namespace {

const OptionRule* find_rule(const std::vector<OptionRule>& rules, const std::string& key) {
  const auto it = std::find_if(rules.begin(), rules.end(), [&](const OptionRule& r) { return r.key == key; });
  return it == rules.end() ? nullptr : &*it;
}

std::string suffixed(const Position& at) {
  const std::string text = to_string(at);
  return text.empty() ? "" : " (" + text + ")";
}

/// One table of a plugin against its rules.
class Check {
 public:
  Check(const std::vector<OptionRule>& rules, const std::string& table, const std::vector<std::string>& also_known)
      : rules_(rules), table_(table), known_(also_known) {
    for (const OptionRule& r : rules) known_.push_back(r.key);
    std::sort(known_.begin(), known_.end());
  }

  /// Takes every value of the table, and of the tables in it, under its dotted key.
  void read(const ConfigTable& table, const std::string& prefix) {
    for (const ConfigEntry& e : table.entries()) {
      const std::string key = prefix + key_text(e.key);  // a dot within quotes is not the dot between tables
      if (const OptionRule* rule = find_rule(rules_, key)) {
        given_.push_back(value_of(*rule, e));
        continue;
      }
      const auto* inner = e.value.as<ConfigTable>();
      if (inner == nullptr || inner->entries().empty()) unknown(key, e.at);
      read(*inner, key + ".");
    }
  }

  /// In the order of the rules. Errors: usage, where a key that must be given is not.
  OptionList filled(const Position& at) const {
    OptionList out;
    for (const OptionRule& rule : rules_) {
      if (const OptionValue* given = find_option(given_, rule.key))
        out.push_back(*given);
      else if (rule.otherwise)
        out.push_back({rule.key, *rule.otherwise});
      else
        throw Error(ErrorKind::usage, fmt::format("[{}] needs '{}'{}", table_, rule.key, suffixed(at)))
            .note("fix", fmt::format("{} = ... ({}{}{})", rule.key, name_of(rule.kind), rule.doc.empty() ? "" : ": ", rule.doc));
    }
    return out;
  }

 private:
  [[noreturn]] void unknown(const std::string& key, const Position& at) const {
    Error error(ErrorKind::usage, fmt::format("unknown option '{}' in [{}]{}", key, table_, suffixed(at)), "P403");
    error.note("known", join_names(known_));
    if (const auto near = nearest_name(key, known_); !near.empty()) error.note("fix", fmt::format("did you mean '{}'?", near));
    throw error;
  }

  OptionValue value_of(const OptionRule& rule, const ConfigEntry& e) const {
    const auto value = option_data(e.value, rule.kind);
    if (!value)
      throw Error(ErrorKind::usage, fmt::format("{}: {}.{} = {} is {}; {} is expected", to_string(e.at), table_, rule.key,
                                                shown(e.value), kind_text(e.value), name_of(rule.kind)));
    if (is_allowed(rule, *value)) return {rule.key, *value};
    Error error(ErrorKind::usage, fmt::format("{}: {}.{} = {} is not allowed", to_string(e.at), table_, rule.key, shown(e.value)));
    error.note(rule.choices.empty() && rule.numbers.empty() ? "allowed" : "known", allowed_text(rule));
    if (const auto* word = std::get_if<std::string>(&*value))
      if (const auto near = nearest_name(*word, rule.choices); !near.empty()) error.note("fix", fmt::format("did you mean {}?", quoted(near)));
    throw error;
  }

  const std::vector<OptionRule>& rules_;
  const std::string& table_;
  std::vector<std::string> known_;
  OptionList given_;
};

}  // namespace

OptionList check_options(const std::vector<OptionRule>& rules, const ConfigTable& table, const std::string& table_name,
                         const std::vector<std::string>& also_known, const Position& at) {
  Check check(rules, table_name, also_known);
  check.read(table, "");
  return check.filled(at);
}

}  // namespace convoy::experiment
