// See csv.hpp.
#include "record/csv.hpp"

#include "error.hpp"

namespace convoy::record {
namespace {

/// Calls `each(position)` for every character that is outside quotes.
template <class Each>
void for_each_unquoted(std::string_view text, Each each) {
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') quoted = !quoted;
    if (!quoted) each(i);
  }
}

std::size_t count_columns(std::string_view header) {
  std::size_t columns = 1;
  for_each_unquoted(header, [&](std::size_t i) { columns += header[i] == ',' ? 1 : 0; });
  return columns;
}

/// Keeps the whole rows. A file that is no table of ours is left alone.
Intact intact_rows(std::string_view content, std::string_view header, const std::filesystem::path& path) {
  const std::string_view first_line = content.substr(0, content.find('\n'));
  const bool torn_header = first_line.size() == content.size() && header.starts_with(first_line);
  if (first_line != header && !torn_header) {
    throw Error(ErrorKind::storage, "cannot append to " + path.string() + ": its columns are not those written now",
                {}, {{"fix", "move the file away, or choose another folder"}});
  }
  std::size_t whole = 0;
  for_each_unquoted(content, [&](std::size_t i) { whole = content[i] == '\n' ? i + 1 : whole; });
  return {whole, false};
}

}  // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

std::string csv_line(std::span<const std::string> fields) {
  std::string line;
  for (const auto& field : fields) line += csv_field(field) + ",";
  line.back() = '\n';
  return line;
}

CsvWriter::CsvWriter(std::filesystem::path path, std::string_view header)
    : file_(path,
            [path, header](std::string_view content) { return intact_rows(content, header, path); }),
      columns_(count_columns(header)) {
  if (file_.size() == 0) file_.append(std::string(header) + "\n");
}

void CsvWriter::append(std::span<const std::string> fields) {
  if (fields.size() != columns_) {
    throw Error(ErrorKind::bug, "a row of " + std::to_string(fields.size()) + " fields for " +
                                    std::to_string(columns_) + " columns of " + file_.path().string());
  }
  file_.append(csv_line(fields));
}

}  // namespace convoy::record
