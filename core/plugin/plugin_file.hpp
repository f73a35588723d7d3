// A plugin file, opened once: what is checked is what is read, and what is loaded can be compared with it.
// Not the loader's way in: that gets a path, because $ORIGIN in a run path means the folder of the path it was given, and
// /proc/self/fd/N would make it the wrong one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace convoy::plugin {

/// Which file it is, and in what state. A file that was replaced or written to has another.
struct FileIdentity {
  uint64_t device = 0, inode = 0, bytes = 0;
  int64_t changed_ns = 0;  // time of the last write, since 1970
  bool operator==(const FileIdentity&) const = default;
};

/// Of the file that lies at `path` now; all zero where there is none.
FileIdentity identity_at(const std::filesystem::path& path);

/// Open for reading until destroyed. Threads: any number may read.
class PluginFile {
 public:
  /// Errors: plugin P208, where it cannot be opened or is no regular file. Does not block on a pipe.
  explicit PluginFile(const std::filesystem::path& path);
  ~PluginFile();
  PluginFile(const PluginFile&) = delete;
  PluginFile& operator=(const PluginFile&) = delete;

  const FileIdentity& identity() const { return identity_; }
  /// Copies `n` bytes from `offset`; false where the file has fewer.
  bool copy(uint64_t offset, void* out, uint64_t n) const;

 private:
  int fd_ = -1;
  FileIdentity identity_;
};

}  // namespace convoy::plugin
