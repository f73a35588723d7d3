// A whole file in memory, read with suspicion: for data plugins that take files from anybody.
// Not for files larger than memory, and not a parser.
#pragma once

#include <convoy/sdk/plugin.hpp>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace convoy::sdk {

/// Thrown for whatever is wrong with a file: "FILE: REASON", as Code::io.
[[noreturn]] inline void bad_file(const std::string& path, const std::string& reason) {
  throw Error(Code::io, path + ": " + reason);
}

/// The bytes of `path`. Links are followed; what they lead to must be a regular file of at most `limit` bytes,
/// which is asked before anything is read or allocated, so a pipe or a device cannot make this wait.
/// Errors: io, with the file and the reason.
inline std::vector<unsigned char> read_file(const std::string& path, uint64_t limit) {
  struct Descriptor {
    int fd;
    ~Descriptor() {
      if (fd >= 0) ::close(fd);
    }
  };
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.fd < 0) bad_file(path, std::strerror(errno));
  struct stat info{};
  if (::fstat(file.fd, &info) != 0) bad_file(path, std::strerror(errno));
  if (!S_ISREG(info.st_mode)) bad_file(path, "not a regular file");
  const uint64_t size = static_cast<uint64_t>(info.st_size);
  if (size > limit)
    bad_file(path, "has " + std::to_string(size) + " bytes; at most " + std::to_string(limit) + " are read");

  std::vector<unsigned char> out(static_cast<std::size_t>(size));
  std::size_t got = 0;
  while (got < out.size()) {
    const ssize_t n = ::read(file.fd, out.data() + got, out.size() - got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) bad_file(path, std::strerror(errno));
    if (n == 0) bad_file(path, "became shorter while it was read");
    got += static_cast<std::size_t>(n);
  }
  return out;
}

}  // namespace convoy::sdk
