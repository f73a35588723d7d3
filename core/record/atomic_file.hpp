// Files that appear whole or not at all: temporary name, fsync, rename, fsync of the folder.
// Not for files that grow while the run goes on; those are append_file.hpp.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "error.hpp"
#include "record/file_descriptor.hpp"

namespace convoy::record {

/// An error of kind storage: "cannot <action> <path>: <text of `error_number`>", with a hint where one helps.
Error storage_error(std::string_view action, const std::filesystem::path& path, int error_number);

/// Writes all of `data` at the descriptor's position. Errors: storage, naming `path`.
void write_all(int fd, std::span<const std::byte> data, const std::filesystem::path& path);

/// Makes the entries of a folder durable. File systems that cannot do it for folders are let pass.
void sync_folder(const std::filesystem::path& folder);

/// Content on its way to `path`. Until commit() an existing file of that name is untouched; destruction
/// without commit removes the temporary file. Errors of all members: storage.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::span<const std::byte> data);
  void write(std::string_view text) { write(std::as_bytes(std::span(text))); }
  /// Durable, and under its name, when this returns.
  void commit();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
  FileDescriptor file_;
  bool committed_ = false;
};

/// A whole file in one call.
void write_atomic(const std::filesystem::path& path, std::string_view bytes);

}  // namespace convoy::record
