// CSV files as RFC 4180 has them, but with a plain line feed at the end of a line, as the tools here expect.
// Not a reader; knows no columns (result_row.hpp does).
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "record/append_file.hpp"

namespace convoy::record {

/// The field, in quotes where it holds a comma, a quote or a line break.
std::string csv_field(std::string_view text);

/// A row with its end of line.
std::string csv_line(std::span<const std::string> fields);

/// Appends rows below a header line. An existing file must have the same header; its torn last row, if
/// there is one, is cut off first. Threads: one. Errors of all members: storage.
class CsvWriter {
 public:
  /// `header`: the first line without its end, fields already quoted.
  CsvWriter(std::filesystem::path path, std::string_view header);

  /// In the file, and visible to readers, when this returns. Errors also: bug for another number of fields than
  /// the header has.
  void append(std::span<const std::string> fields);
  void sync() { file_.sync(); }

 private:
  AppendFile file_;
  std::size_t columns_;
};

}  // namespace convoy::record
