// See atomic_file.hpp. Every system call's result is looked at, because a disk that is full says so at any of them.
#include "record/atomic_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>

namespace convoy::record {
namespace {

namespace fs = std::filesystem;

std::string_view hint_for(int error_number) {
  switch (error_number) {
    case ENOSPC:
    case EDQUOT: return "free some space there, or choose another folder with --out";
    case EACCES:
    case EPERM:
    case EROFS: return "choose a folder that you may write to with --out";
    default: return {};
  }
}

fs::path folder_of(const fs::path& path) {
  return path.has_parent_path() ? path.parent_path() : fs::path(".");
}

/// Opens a new file beside `path`; its name does not depend on that of `path`, which may be as long as names get.
FileDescriptor open_temporary(const fs::path& path, fs::path& temporary) {
  static std::atomic<unsigned> counter{0};
  constexpr int kTries = 100;  // leftovers of a killed process with the same number are in the way, no more
  for (int i = 0; i < kTries; ++i) {
    temporary = folder_of(path) / (".convoy-" + std::to_string(::getpid()) + "-" + std::to_string(counter++) + ".tmp");
    const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd >= 0) return FileDescriptor(fd);
    if (errno != EEXIST) break;
  }
  throw storage_error("write", path, errno);
}

}  // namespace

Error storage_error(std::string_view action, const fs::path& path, int error_number) {
  Error error(ErrorKind::storage, "cannot " + std::string(action) + " " + path.string() + ": " +
                                      std::generic_category().message(error_number));
  if (const auto hint = hint_for(error_number); !hint.empty()) error.note("fix", std::string(hint));
  return error;
}

void write_all(int fd, std::span<const std::byte> data, const fs::path& path) {
  while (!data.empty()) {
    const ssize_t written = ::write(fd, data.data(), data.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw storage_error("write", path, errno);
    data = data.subspan(static_cast<std::size_t>(written));
  }
}

void sync_folder(const fs::path& folder) {
  const FileDescriptor fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) throw storage_error("open folder", folder, errno);
  if (::fsync(fd.get()) != 0 && errno != EINVAL && errno != ENOTSUP) throw storage_error("sync folder", folder, errno);
}

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)), file_(open_temporary(path_, temporary_)) {}

AtomicFile::~AtomicFile() {
  if (!committed_) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const std::byte> data) { write_all(file_.get(), data, path_); }

void AtomicFile::commit() {
  if (::fsync(file_.get()) != 0) throw storage_error("write", path_, errno);
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) throw storage_error("replace", path_, errno);
  committed_ = true;
  sync_folder(folder_of(path_));
}

void write_atomic(const fs::path& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace convoy::record
