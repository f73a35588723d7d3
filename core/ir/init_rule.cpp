// The init strings of IGraphBuilder::param: which exist, and how many numbers each takes.
// Their values are computed elsewhere.
#include "error.hpp"
#include "ir/builder.hpp"
#include "nearest.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <map>

namespace convoy::ir {

namespace {

const std::map<std::string, std::size_t>& rules() {
  static const std::map<std::string, std::size_t> table{
      {"zeros", 0},           {"ones", 0},          {"constant", 1},
      {"normal", 2},          {"uniform", 2},       {"trunc_normal", 1},
      {"xavier_uniform", 0},  {"torch_default", 0}, {"kaiming_normal_fan_out", 0},
      {"torch_default_bias", 1}, {"xavier_gaussian_in", 1}, {"kaiming_normal_fan_in", 0}};
  return table;
}

/// Numbers between the parentheses; false where the text is anything else.
bool read_numbers(const std::string& text, std::size_t& count) {
  const char* p = text.c_str();
  for (count = 0; *p != '\0'; ++count) {
    char* end = nullptr;
    if (!std::isfinite(std::strtod(p, &end)) || end == p) return false;
    while (*end == ' ') ++end;
    if (*end != ',' && *end != '\0') return false;
    if (*end == ',' && end[1] == '\0') return false;
    p = *end == ',' ? end + 1 : end;
  }
  return true;
}

}  // namespace

void check_init(const std::string& init) {
  const auto open = init.find('(');
  const std::string name = init.substr(0, open);
  const auto found = rules().find(name);
  if (found == rules().end()) {
    std::vector<std::string> known;
    for (const auto& [rule, n] : rules()) known.push_back(rule);
    const std::string near = nearest_name(name, known);
    throw Error(ErrorKind::usage, fmt::format("no initial value is called '{}'; known are {}{}", init, join_names(known),
                                              near.empty() ? "" : "; did you mean '" + near + "'?"));
  }
  std::size_t count = 0;
  const bool closed = open == std::string::npos || init.back() == ')';
  const bool numbers =
      open == std::string::npos || (closed && read_numbers(init.substr(open + 1, init.size() - open - 2), count));
  if (!closed || !numbers || count != found->second)
    throw Error(ErrorKind::usage, fmt::format("the initial value '{}' needs {} numbers: {}(a, b ...)", init, found->second, name));
}

}  // namespace convoy::ir
