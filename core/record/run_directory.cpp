// See run_directory.hpp.
#include "record/run_directory.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace convoy::record {
namespace {

namespace fs = std::filesystem;

bool stands_anywhere(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '-';
}

std::string time_stamp(std::time_t now) {
  std::tm local{};
  ::localtime_r(&now, &local);
  std::array<char, 32> text{};
  const std::size_t length = std::strftime(text.data(), text.size(), "%Y%m%d-%H%M%S", &local);
  return std::string(text.data(), length);
}

void make_folders(const fs::path& path) {
  std::error_code failed;
  fs::create_directories(path, failed);
  if (failed) throw storage_error("make folder", path, failed.value());
}

}  // namespace

std::string sanitized_run_name(std::string_view name) {
  constexpr std::size_t kLongest = 100;  // leaves room for the time in the 255 bytes of a file name
  std::string out(name.substr(0, kLongest));
  std::replace_if(out.begin(), out.end(), [](char c) { return !stands_anywhere(c); }, '-');
  out.erase(0, out.find_first_not_of(".-"));  // neither hidden nor taken for an option
  return out.empty() ? "run" : out;
}

RunDirectory RunDirectory::create(const fs::path& out, std::string_view name, std::time_t now) {
  make_folders(out);
  const std::string stem = sanitized_run_name(name) + "-" + time_stamp(now);
  constexpr int kTries = 10'000;  // far more runs than can start in one second
  for (int n = 1; n <= kTries; ++n) {
    const fs::path root = out / (n == 1 ? stem : stem + "-" + std::to_string(n));
    if (::mkdir(root.c_str(), 0777) == 0) {  // atomic: exactly one caller gets 0
      make_folders(root / "checkpoints");
      return RunDirectory(root);
    }
    if (errno != EEXIST) throw storage_error("make folder", root, errno);
  }
  throw storage_error("make folder", out / stem, EEXIST);
}

}  // namespace convoy::record
