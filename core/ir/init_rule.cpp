// The init strings of IGraphBuilder::param: which exist, and what numbers each takes.
// Their values are computed elsewhere.
#include "error.hpp"
#include "ir/builder.hpp"
#include "nearest.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <vector>

namespace convoy::ir {

namespace {

using Numbers = std::vector<double>;

struct InitRule {
  const char* name;
  const char* arguments;                           // as written behind the name
  std::size_t count;
  bool needs_fan = false;                          // scaled by fans: makes no sense for a vector
  bool (*allows)(const Numbers&) = nullptr;        // null = any finite numbers
  const char* allowed = "";
};

bool positive(const Numbers& a) { return a[0] > 0; }

const InitRule kRules[] = {
    {"zeros", "", 0},
    {"ones", "", 0},
    {"constant", "(a)", 1},
    {"normal", "(mean, stdev)", 2, false, [](const Numbers& a) { return a[1] >= 0; }, "stdev is 0 or more"},
    {"uniform", "(lo, hi)", 2, false, [](const Numbers& a) { return a[0] <= a[1]; }, "lo is at most hi"},
    {"trunc_normal", "(stdev)", 1, false, positive, "stdev is above 0"},
    {"kaiming_normal_fan_out", "", 0, true},
    {"kaiming_normal_fan_in", "", 0, true},
    {"xavier_uniform", "", 0, true},
    {"xavier_gaussian_in", "(magnitude)", 1, true, positive, "magnitude is above 0"},
    {"torch_default", "", 0, true},
    {"torch_default_bias", "(fan_in)", 1, false, positive, "fan_in is above 0"},
};

/// Numbers between the parentheses; false where the text is anything else.
bool read_numbers(const std::string& text, Numbers& out) {
  const char* p = text.c_str();
  while (*p != '\0') {
    char* end = nullptr;
    out.push_back(std::strtod(p, &end));
    if (!std::isfinite(out.back()) || end == p) return false;
    while (*end == ' ') ++end;
    if (*end == '\0') return true;
    if (*end != ',' || end[1] == '\0') return false;
    p = end + 1;
  }
  return true;
}

const InitRule& find_init(const std::string& name, const std::string& written) {
  std::vector<std::string> names, spellings;
  for (const InitRule& r : kRules) {
    if (name == r.name) return r;
    names.emplace_back(r.name);
    spellings.push_back(std::string(r.name) + r.arguments);
  }
  const std::string near = nearest_name(name, names);
  throw Error(ErrorKind::usage, fmt::format("no initial value is called '{}'; known are {}{}", written, join_names(spellings),
                                            near.empty() ? "" : "; did you mean '" + near + "'?"));
}

}  // namespace

void check_init(const std::string& init, std::size_t rank) {
  const auto open = init.find('(');
  const InitRule& rule = find_init(init.substr(0, open), init);
  Numbers numbers;
  const bool closed = open == std::string::npos || init.back() == ')';
  const bool readable =
      closed && (open == std::string::npos || read_numbers(init.substr(open + 1, init.size() - open - 2), numbers));
  const std::string spelling = std::string(rule.name) + rule.arguments;
  if (!readable || numbers.size() != rule.count)
    throw Error(ErrorKind::usage, fmt::format("the initial value '{}' is written {}", init, spelling));
  if (rule.allows != nullptr && !rule.allows(numbers))
    throw Error(ErrorKind::usage, fmt::format("the initial value '{}' is out of range; in {}, {}", init, spelling, rule.allowed));
  if (rule.needs_fan && rank < 2)
    throw Error(ErrorKind::usage, fmt::format("the initial value '{}' needs inputs and outputs to count, and this value has "
                                              "{} dimensions; a bias takes zeros or torch_default_bias(fan_in)", init, rank));
}

}  // namespace convoy::ir
