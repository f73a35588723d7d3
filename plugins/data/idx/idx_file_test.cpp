// Tests of the idx reader: plain and gzip, and every way in which a file can be wrong.
#include "idx_file.hpp"

#include <convoy/sdk/plugin.hpp>

#include <doctest/doctest.h>

#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

using namespace convoy;
using Bytes = std::vector<unsigned char>;
namespace fs = std::filesystem;

namespace {

Bytes header(unsigned char type, const std::vector<uint32_t>& dims) {
  Bytes out{0, 0, type, static_cast<unsigned char>(dims.size())};
  for (uint32_t d : dims)
    for (int shift = 24; shift >= 0; shift -= 8) out.push_back(static_cast<unsigned char>(d >> shift));
  return out;
}

Bytes with_data(Bytes head, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) head.push_back(static_cast<unsigned char>(i * 7));
  return head;
}

Bytes gzipped(const Bytes& in) {
  z_stream z{};
  REQUIRE(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY) == Z_OK);
  Bytes out(deflateBound(&z, in.size()));
  z.next_in = const_cast<Bytef*>(in.data());
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = out.data();
  z.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

/// A file that is gone when it goes out of scope.
struct TemporaryFile {
  fs::path path = fs::temp_directory_path() / ("convoy-idx-" + std::to_string(::getpid()));
  explicit TemporaryFile(const Bytes& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  ~TemporaryFile() { fs::remove(path); }
};

/// What the reader says about these bytes, without the file's name, which it must begin with; "" if it reads them.
std::string refusal(const Bytes& bytes, uint32_t rank) {
  const TemporaryFile file(bytes);
  try {
    idx::read_idx(file.path.string(), rank);
    return {};
  } catch (const sdk::Error& e) {
    CHECK(e.code() == Code::io);
    const std::string text = e.what(), begin = file.path.string() + ": ";
    REQUIRE(text.rfind(begin, 0) == 0);
    return text.substr(begin.size());
  }
}

}  // namespace

TEST_SUITE("data/idx") {
  TEST_CASE("plain and gzip files give the same contents") {
    const Bytes bytes = with_data(header(8, {2, 3, 5}), 30);
    for (const Bytes& stored : {bytes, gzipped(bytes)}) {
      const TemporaryFile file(stored);
      const idx::IdxFile found = idx::read_idx(file.path.string(), 3);
      CHECK(found.dims == std::vector<uint32_t>{2, 3, 5});
      CHECK(found.values == Bytes(bytes.begin() + 16, bytes.end()));
    }
  }

  TEST_CASE("wrong kinds of file are refused by their first bytes") {
    CHECK(refusal(with_data(header(8, {4}), 4), 3) ==
          "begins with 0x00000801 (a file of labels), expected 0x00000803 (a file of pictures)");
    CHECK(refusal(with_data(header(8, {1, 1, 4}), 4), 1) ==
          "begins with 0x00000803 (a file of pictures), expected 0x00000801 (a file of labels)");
    CHECK(refusal(with_data(header(0x0d, {4}), 16), 1).find("begins with 0x00000d01, expected") == 0);
    CHECK(refusal({'h', 'e', 'l', 'l', 'o'}, 1).find("begins with 0x68656c6c") == 0);
  }

  TEST_CASE("a plain file cut anywhere is refused") {
    const Bytes bytes = with_data(header(8, {2, 2, 2}), 8);
    for (std::size_t n = 0; n < bytes.size(); ++n)
      CHECK(refusal(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n)), 3).find("cut short") == 0);
  }

  TEST_CASE("a gzip file cut anywhere, or with a wrong bit, is refused") {
    const Bytes packed = gzipped(with_data(header(8, {20, 2, 2}), 80));
    for (std::size_t n = 2; n < packed.size(); ++n)
      CHECK(refusal(Bytes(packed.begin(), packed.begin() + static_cast<std::ptrdiff_t>(n)), 3).find("cut short") == 0);
    Bytes wrong = packed;
    wrong[wrong.size() - 6] ^= 1;  // the checksum
    CHECK(refusal(wrong, 3) == "broken gzip stream: incorrect data check");
    Bytes longer = packed;
    longer.push_back(0);
    CHECK(refusal(longer, 3) == "1 bytes follow the end of the gzip stream");
  }

  TEST_CASE("bytes beyond those that the header promises are refused") {
    const Bytes bytes = with_data(header(8, {3}), 4);
    CHECK(refusal(bytes, 1) == "goes on after the 3 bytes of data that its header promises");
    CHECK(refusal(gzipped(bytes), 1) == "goes on after the 3 bytes of data that its header promises");
  }

  TEST_CASE("a header that promises more than the file can hold allocates nothing") {
    CHECK(refusal(with_data(header(8, {0xffffffffu}), 5), 1).find("cut short: its header promises 4294967295") == 0);
    CHECK(refusal(gzipped(with_data(header(8, {60000, 65535, 65535}), 5)), 3).find("cut short: its header") == 0);
    CHECK(refusal(with_data(header(8, {0xffffffffu, 0xffffffffu, 2}), 5), 3) == "its header's sizes overflow");
  }

  TEST_CASE("a gzip bomb is read no further than its header says") {
    Bytes bomb = header(8, {16});
    bomb.resize(64u << 20);  // 64 MiB of zeros in some 64 KiB
    CHECK(refusal(gzipped(bomb), 1) == "goes on after the 16 bytes of data that its header promises");
  }

  TEST_CASE("what is no regular file is refused at once") {
    CHECK_THROWS_WITH_AS(idx::read_idx("/nowhere/at-all", 1), "/nowhere/at-all: No such file or directory",
                         sdk::Error);
    CHECK_THROWS_WITH_AS(idx::read_idx("/dev/zero", 1), "/dev/zero: not a regular file", sdk::Error);
    CHECK_THROWS_WITH_AS(idx::read_idx("/tmp", 1), "/tmp: not a regular file", sdk::Error);
  }
}
