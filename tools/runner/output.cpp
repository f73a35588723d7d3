#include "runner/output.hpp"

#include "error.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace convoy::runner {

void fill_standard_descriptors() {
  // open() takes the lowest free number, and those below are taken by then.
  for (int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(fd, F_GETFD) == -1 && errno == EBADF && open("/dev/null", O_RDWR) != fd) _exit(static_cast<int>(ErrorKind::storage));
}

int printed(int code) {
  errno = 0;
  const bool flushed = std::fflush(stdout) == 0;
  const int why = errno;
  if (flushed && std::ferror(stdout) == 0) return code;
  throw Error(ErrorKind::storage, fmt::format("standard output could not be written{}", why == 0 ? "" : fmt::format(" ({})", std::strerror(why))));
}

}  // namespace convoy::runner
