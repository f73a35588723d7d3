// Header first, then exactly as many bytes as it promises.
#include "idx_file.hpp"

#include "gzip.hpp"

#include <convoy/sdk/file.hpp>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>

namespace convoy::idx {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{4} << 30;
constexpr uint64_t kDeflateRatio = 1032;   // the most that deflate can pack into one byte; zlib's documentation
constexpr uint64_t kMaxTinyBytes = 65536;  // where the ratio of a small file says little, this much is harmless
constexpr unsigned char kUnsignedBytes = 0x08;

/// The unpacked bytes in order, whichever way the file is stored.
class Source {
 public:
  explicit Source(const std::string& path) : path_(path), bytes_(sdk::read_file(path, kMaxFileBytes)) {
    if (is_gzip(bytes_)) gunzip_ = std::make_unique<Gunzip>(path, bytes_);
  }
  std::size_t take(unsigned char* out, std::size_t n) {
    if (gunzip_) return gunzip_->take(out, n);
    const std::size_t got = std::min(n, bytes_.size() - next_);
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(next_), got, out);
    next_ += got;
    return got;
  }
  /// No more than this can come out.
  uint64_t most() const {
    return gunzip_ ? bytes_.size() * kDeflateRatio + kMaxTinyBytes : bytes_.size();
  }
  /// "5016 bytes", of the file as it is stored.
  std::string size() const { return std::to_string(bytes_.size()) + (gunzip_ ? " packed bytes" : " bytes"); }

 private:
  std::string path_;
  std::vector<unsigned char> bytes_;
  std::size_t next_ = 0;
  std::unique_ptr<Gunzip> gunzip_;
};

uint32_t big_endian(const unsigned char* p) {
  return uint32_t{p[0]} << 24 | uint32_t{p[1]} << 16 | uint32_t{p[2]} << 8 | uint32_t{p[3]};
}

std::string hex(uint32_t n) {
  char out[11];
  std::snprintf(out, sizeof(out), "0x%08x", n);
  return out;
}

std::string what_is(uint32_t magic) {
  if (magic == 0x00000801u) return " (a file of labels)";
  if (magic == 0x00000803u) return " (a file of pictures)";
  return "";
}

void take_exactly(Source& source, const std::string& path, unsigned char* out, std::size_t n) {
  const std::size_t got = source.take(out, n);
  if (got < n)
    sdk::bad_file(path, "cut short in the header, after " + std::to_string(got) + " of " + std::to_string(n) + " bytes");
}

std::vector<uint32_t> read_header(Source& source, const std::string& path, uint32_t rank) {
  std::vector<unsigned char> header(4 + 4 * std::size_t{rank});
  take_exactly(source, path, header.data(), 4);
  const uint32_t magic = big_endian(header.data());
  const uint32_t expected = uint32_t{kUnsignedBytes} << 8 | rank;
  if (magic != expected)
    sdk::bad_file(path, "begins with " + hex(magic) + what_is(magic) + ", expected " + hex(expected) +
                            what_is(expected));
  take_exactly(source, path, header.data() + 4, header.size() - 4);
  std::vector<uint32_t> dims;
  for (uint32_t i = 0; i < rank; ++i) dims.push_back(big_endian(header.data() + 4 + 4 * i));
  return dims;
}

/// Product of `dims`, refused before it can overflow or exceed what the file can hold.
uint64_t count_values(const std::vector<uint32_t>& dims, const std::string& path, const Source& source) {
  uint64_t n = 1;
  for (uint32_t d : dims) {
    if (d != 0 && n > std::numeric_limits<uint64_t>::max() / d) sdk::bad_file(path, "its header's sizes overflow");
    n *= d;
  }
  if (n > source.most())
    sdk::bad_file(path, "cut short: its header promises " + std::to_string(n) + " bytes of data, the whole file has " +
                            source.size());
  return n;
}

}  // namespace

IdxFile read_idx(const std::string& path, uint32_t rank) {
  Source source(path);
  IdxFile out;
  out.dims = read_header(source, path, rank);
  const uint64_t n = count_values(out.dims, path, source);
  out.values.resize(static_cast<std::size_t>(n));
  const std::size_t got = source.take(out.values.data(), out.values.size());
  if (got < n)
    sdk::bad_file(path, "cut short: has " + std::to_string(got) + " bytes of data, its header promises " +
                            std::to_string(n));
  unsigned char extra = 0;
  if (source.take(&extra, 1) != 0)
    sdk::bad_file(path, "goes on after the " + std::to_string(n) + " bytes of data that its header promises");
  return out;
}

}  // namespace convoy::idx
