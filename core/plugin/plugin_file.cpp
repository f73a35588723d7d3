#include "plugin/plugin_file.hpp"

#include "error.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace convoy::plugin {

namespace {

Error no_plugin(const std::filesystem::path& path, const std::string& why) {
  return Error(ErrorKind::plugin, fmt::format("{} is not a plugin: {}", path.string(), why), "P208");
}

FileIdentity identity_of(const struct stat& s) {
  return {static_cast<uint64_t>(s.st_dev), static_cast<uint64_t>(s.st_ino), static_cast<uint64_t>(s.st_size),
          int64_t{s.st_mtim.tv_sec} * 1'000'000'000 + s.st_mtim.tv_nsec};
}

}  // namespace

FileIdentity identity_at(const std::filesystem::path& path) {
  struct stat s {};
  return stat(path.c_str(), &s) == 0 ? identity_of(s) : FileIdentity{};
}

PluginFile::PluginFile(const std::filesystem::path& path) {
  fd_ = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd_ < 0) throw no_plugin(path, fmt::format("it cannot be opened ({})", std::strerror(errno)));
  struct stat s {};
  if (fstat(fd_, &s) != 0 || !S_ISREG(s.st_mode)) {
    close(fd_);
    throw no_plugin(path, "it is not a regular file");
  }
  identity_ = identity_of(s);
}

PluginFile::~PluginFile() { close(fd_); }

bool PluginFile::copy(uint64_t offset, void* out, uint64_t n) const {
  auto* to = static_cast<char*>(out);
  while (n > 0) {
    const ssize_t got = pread(fd_, to, n, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    offset += static_cast<uint64_t>(got);
    n -= static_cast<uint64_t>(got);
  }
  return true;
}

}  // namespace convoy::plugin
