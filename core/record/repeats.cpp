#include "record/repeats.hpp"

#include "error.hpp"

#include <nlohmann/json.hpp>

namespace convoy::record {

namespace {

using Json = nlohmann::ordered_json;

Repeat parse(std::string_view line, const std::filesystem::path& path) {
  try {
    const Json j = Json::parse(line);
    return {j.at("sweep"), j.at("fields"), j.at("step_ms")};
  } catch (const nlohmann::json::exception& e) {
    throw Error(ErrorKind::storage, path.string() + " holds a line that is no repeat: " + e.what()).note("fix", "start the sweep anew, without --resume");
  }
}

Intact read_lines(std::string_view content, const std::filesystem::path& path, std::vector<Repeat>& out) {
  std::size_t whole = 0;
  for (std::size_t end; (end = content.find('\n', whole)) != content.npos; whole = end + 1) out.push_back(parse(content.substr(whole, end - whole), path));
  return {whole, false};
}

}  // namespace

Repeats::Repeats(const std::filesystem::path& path) : file_(path, [&](std::string_view content) { return read_lines(content, path, earlier_); }) {}

void Repeats::append(const Repeat& r) {
  const Json j{{"sweep", r.sweep}, {"fields", r.fields}, {"step_ms", r.step_ms}};
  file_.append(j.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

}  // namespace convoy::record
