// What every model's test holds against a golden file: names, shapes, order and counts of its parameters. Also
// multiply-adds as tables print them. The values of a golden file are for the system tests.
#pragma once

#include "built_model.hpp"
#include "shared_data.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>

namespace convoy::testing {

using OrderedJson = nlohmann::ordered_json;  // the order of the names is part of what is compared

/// The golden file `variant`; nothing, said aloud, where there is no shared data.
inline std::optional<OrderedJson> golden_json(const std::string& variant) {
  const auto shared = shared_data();
  if (!shared) {
    MESSAGE("skipped: no shared data");
    return std::nullopt;
  }
  std::ifstream in(*shared / "golden" / (variant + ".json"));
  return OrderedJson::parse(in);
}

inline NamedShapes shapes_of(const OrderedJson& table) {
  NamedShapes out;
  for (const auto& [name, dims] : table.items()) out.emplace_back(name, dims.get<std::vector<int64_t>>());
  return out;
}

/// Compares one by one, so that a failure names the first parameter that differs.
inline void check_same(const NamedShapes& got, const NamedShapes& want) {
  CHECK(got.size() == want.size());
  for (std::size_t i = 0; i < std::min(got.size(), want.size()); ++i) {
    CAPTURE(want[i].first);
    REQUIRE(got[i].first == want[i].first);
    CHECK(got[i].second == want[i].second);
  }
}

inline void check_golden_names(const BuiltModel& m, const OrderedJson& golden) {
  check_same(m.parameters(), shapes_of(golden.at("parameters")));
  check_same(m.buffers(), shapes_of(golden.at("buffers")));
  CHECK(m.elements({Role::param}) == golden.at("trainable").get<int64_t>());
  CHECK(m.elements({Role::param, Role::frozen}) == golden.at("total").get<int64_t>());
}

inline std::string giga(int64_t n) {
  char out[32];
  std::snprintf(out, sizeof(out), "%.3f", static_cast<double>(n) * 1e-9);
  return out;
}

}  // namespace convoy::testing
