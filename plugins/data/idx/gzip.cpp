// zlib's inflate, with its codes turned into sentences.
#include "gzip.hpp"

#include <convoy/sdk/file.hpp>

#include <algorithm>
#include <limits>

namespace convoy::idx {
namespace {

constexpr int kGzipOnly = 16 + MAX_WBITS;  // zlib's way to say: gzip header and checksum, 32 KiB window

}  // namespace

bool is_gzip(const std::vector<unsigned char>& bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

Gunzip::Gunzip(const std::string& path, const std::vector<unsigned char>& packed) : path_(path) {
  if (packed.size() > std::numeric_limits<uInt>::max()) sdk::bad_file(path, "gzip files over 4 GiB are not read");
  stream_.next_in = const_cast<Bytef*>(packed.data());  // zlib reads only
  stream_.avail_in = static_cast<uInt>(packed.size());
  if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw std::bad_alloc();
}

Gunzip::~Gunzip() { inflateEnd(&stream_); }

std::size_t Gunzip::take(unsigned char* out, std::size_t n) {
  constexpr std::size_t kPiece = std::size_t{1} << 30;  // avail_out is 32 bits wide
  std::size_t got = 0;
  while (got < n && !ended_) {
    const std::size_t room = std::min(n - got, kPiece);
    stream_.next_out = out + got;
    stream_.avail_out = static_cast<uInt>(room);
    const int code = inflate(&stream_, Z_NO_FLUSH);
    got += room - stream_.avail_out;
    if (code == Z_STREAM_END) {
      ended_ = true;
      if (stream_.avail_in != 0)
        sdk::bad_file(path_, std::to_string(stream_.avail_in) + " bytes follow the end of the gzip stream");
    } else if (code != Z_OK) {
      refuse(code);
    }
  }
  return got;
}

void Gunzip::refuse(int code) const {
  if (code == Z_MEM_ERROR) throw std::bad_alloc();
  if (code == Z_BUF_ERROR) sdk::bad_file(path_, "cut short: the gzip stream does not end");
  sdk::bad_file(path_, std::string("broken gzip stream: ") + (stream_.msg != nullptr ? stream_.msg : "bad data"));
}

}  // namespace convoy::idx
