// See append_file.hpp.
#include "record/append_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <string>

#include "record/atomic_file.hpp"

namespace convoy::record {
namespace {

std::string read_whole(int fd, std::size_t bytes, const std::filesystem::path& path) {
  std::string content(bytes, '\0');
  std::size_t have = 0;
  while (have < bytes) {
    const ssize_t got = ::pread(fd, content.data() + have, bytes - have, static_cast<off_t>(have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw storage_error("read", path, errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  content.resize(have);
  return content;
}

}  // namespace

AppendFile::AppendFile(std::filesystem::path path,
                       const std::function<Intact(std::string_view content)>& inspect)
    : path_(std::move(path)),
      file_(::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666)) {
  if (!file_.valid()) throw storage_error("open", path_, errno);
  struct stat status{};
  if (::fstat(file_.get(), &status) != 0) throw storage_error("open", path_, errno);
  if (!S_ISREG(status.st_mode))
    throw Error(ErrorKind::storage, "cannot append to " + path_.string() + ": it is not a regular file");
  size_ = static_cast<std::uint64_t>(status.st_size);
  if (size_ > 0) repair(inspect);
}

void AppendFile::repair(const std::function<Intact(std::string_view content)>& inspect) {
  const Intact intact = inspect(read_whole(file_.get(), static_cast<std::size_t>(size_), path_));
  if (intact.bytes < size_) {
    if (::ftruncate(file_.get(), static_cast<off_t>(intact.bytes)) != 0) throw storage_error("repair", path_, errno);
    cut_bytes_ = size_ - intact.bytes;
    size_ = intact.bytes;
  }
  if (intact.needs_newline) append("\n");
}

void AppendFile::append(std::string_view text) {
  try {
    write_all(file_.get(), std::as_bytes(std::span(text)), path_);
  } catch (const Error&) {
    // Best effort: if even this fails, the torn line is repaired by whoever opens the file next.
    [[maybe_unused]] const int ignored = ::ftruncate(file_.get(), static_cast<off_t>(size_));
    throw;
  }
  size_ += text.size();
}

void AppendFile::sync() {
  if (::fsync(file_.get()) != 0) throw storage_error("write", path_, errno);
}

}  // namespace convoy::record
