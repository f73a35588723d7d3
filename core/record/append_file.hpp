// A file that grows line by line while the run goes on; what was appended survives a crash of the process.
// Not atomic as a whole: after a power cut the last line may be torn, and whoever reopens it repairs that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string_view>

#include "record/file_descriptor.hpp"

namespace convoy::record {

/// How much of an existing file is whole, and what is missing at the end of that.
struct Intact {
  std::size_t bytes = 0;      // anything beyond is cut off
  bool needs_newline = false; // the last record is whole but for its end of line
};

/// Threads: one. Errors of all members: storage.
class AppendFile {
 public:
  /// Opens or makes the file. `inspect` is shown the content of an existing one and says what to keep.
  AppendFile(std::filesystem::path path, const std::function<Intact(std::string_view content)>& inspect);

  /// One write: a reader never sees part of `text` before the rest, except when the disk fills up; then the part
  /// is taken back and the error thrown.
  void append(std::string_view text);
  /// Durable when this returns.
  void sync();

  const std::filesystem::path& path() const { return path_; }
  /// Bytes of the file now.
  std::uint64_t size() const { return size_; }
  /// Bytes that repair cut off on opening.
  std::uint64_t cut_bytes() const { return cut_bytes_; }

 private:
  void repair(const std::function<Intact(std::string_view content)>& inspect);

  std::filesystem::path path_;
  FileDescriptor file_;
  std::uint64_t size_ = 0;
  std::uint64_t cut_bytes_ = 0;
};

}  // namespace convoy::record
