// See ndjson.hpp.
#include "record/ndjson.hpp"

#include "record/record_json.hpp"

namespace convoy::record {
namespace {

/// Keeps everything up to the last end of line, and what follows where only its end of line is missing.
Intact intact_lines(std::string_view content, const std::filesystem::path& path) {
  if (content.empty() || content.back() == '\n') return {content.size(), false};
  const std::size_t last_end = content.rfind('\n');
  const std::size_t whole = last_end == std::string_view::npos ? 0 : last_end + 1;
  const std::string_view tail = content.substr(whole);
  if (tail.front() == '{') {
    const bool complete = nlohmann::json::accept(tail.begin(), tail.end());
    return complete ? Intact{content.size(), true} : Intact{whole, false};
  }
  // After a power cut some file systems leave zeros where the line should be.
  if (tail.front() == '\0') return {whole, false};
  throw Error(ErrorKind::storage, "cannot append to " + path.string() + ": it does not hold JSON lines");
}

}  // namespace

Record& Record::put(std::string key, RecordValue value) {
  fields_.emplace_back(std::move(key), std::move(value));
  return *this;
}

std::string to_json(const Record& record) {
  auto object = nlohmann::ordered_json::object();
  add_fields(object, record);
  return dump(object, -1);
}

NdjsonWriter::NdjsonWriter(std::filesystem::path path)
    : file_(path, [path](std::string_view content) { return intact_lines(content, path); }) {}

void NdjsonWriter::append(const Record& record) { file_.append(to_json(record) + "\n"); }

}  // namespace convoy::record
