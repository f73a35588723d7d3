// metrics.ndjson: one JSON object a line, in the order in which things happened.
// Not a logger (log.hpp) and not a reader.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "record/append_file.hpp"

namespace convoy::record {

using RecordValue = std::variant<bool, std::int64_t, double, std::string>;

/// An ordered list of keys and values. Adding a key twice is a bug of the caller, found when it is written.
class Record {
 public:
  Record& add(std::string key, bool value) { return put(std::move(key), value); }
  Record& add(std::string key, int value) { return put(std::move(key), std::int64_t{value}); }
  Record& add(std::string key, std::int64_t value) { return put(std::move(key), value); }
  Record& add(std::string key, double value) { return put(std::move(key), value); }
  Record& add(std::string key, std::string value) { return put(std::move(key), std::move(value)); }
  Record& add(std::string key, const char* value) { return put(std::move(key), std::string(value)); }

  const std::vector<std::pair<std::string, RecordValue>>& fields() const { return fields_; }

 private:
  // Out of line: inlined, g++ 12 warns of reading a double that the variant does not hold.
  Record& put(std::string key, RecordValue value);
  std::vector<std::pair<std::string, RecordValue>> fields_;
};

/// One line of JSON without its end. Numbers that are not finite become null, bytes that are not UTF-8 become
/// U+FFFD: the text is always valid JSON. Errors: bug for a key given twice.
std::string to_json(const Record& record);

/// Appends to an existing file, whose torn last line, if there is one, is cut off first. Threads: one.
class NdjsonWriter {
 public:
  explicit NdjsonWriter(std::filesystem::path path);

  /// In the file, and visible to readers, when this returns. Errors: storage.
  void append(const Record& record);
  /// Durable when this returns.
  void sync() { file_.sync(); }
  /// Bytes of a torn last line that were cut off on opening; worth a line in the log when not 0.
  std::uint64_t repaired_bytes() const { return file_.cut_bytes(); }

 private:
  AppendFile file_;
};

}  // namespace convoy::record
