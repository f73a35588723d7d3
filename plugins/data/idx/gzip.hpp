// Unpacks a gzip file in memory piece by piece, so that its reader decides how much may come out.
// One member only; not a general zlib wrapper.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <zlib.h>

namespace convoy::idx {

/// True where the bytes begin like a gzip file.
bool is_gzip(const std::vector<unsigned char>& bytes);

/// Borrows `packed` for its life. Errors: sdk::Error(io) with `path` and the reason.
class Gunzip {
 public:
  Gunzip(const std::string& path, const std::vector<unsigned char>& packed);
  ~Gunzip();
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  /// Writes up to `n` bytes at `out`; fewer only where the stream ends.
  std::size_t take(unsigned char* out, std::size_t n);

 private:
  [[noreturn]] void refuse(int code) const;

  std::string path_;
  z_stream stream_{};
  bool ended_ = false;
};

}  // namespace convoy::idx
