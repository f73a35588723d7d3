// A Record as a JSON object. For the sources of this folder only: it brings in the JSON library.
#pragma once

#include <nlohmann/json.hpp>

#include "error.hpp"
#include "record/ndjson.hpp"

namespace convoy::record {

/// Adds the fields behind what `object` has. Errors: bug for a key that is there already.
inline void add_fields(nlohmann::ordered_json& object, const Record& record) {
  for (const auto& [key, value] : record.fields()) {
    if (object.contains(key)) throw Error(ErrorKind::bug, "a record has two values for '" + key + "'");
    std::visit([&object, &key = key](const auto& v) { object[key] = v; }, value);
  }
}

/// Valid JSON whatever the strings hold: bytes that are not UTF-8 become U+FFFD. Numbers that are not finite
/// are null, by the library's own rule.
inline std::string dump(const nlohmann::ordered_json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace convoy::record
