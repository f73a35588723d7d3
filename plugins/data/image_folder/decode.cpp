// Which decoder, by the signature.
#include "decode.hpp"

#include "bad_picture.hpp"
#include "jpeg.hpp"
#include "png.hpp"

#include <convoy/sdk/file.hpp>

#include <cstring>
#include <string_view>
#include <vector>

namespace convoy::image_folder {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{256} << 20;

bool begins(const std::vector<unsigned char>& file, std::string_view mark, std::size_t at = 0) {
  return file.size() >= at + mark.size() && std::memcmp(file.data() + at, mark.data(), mark.size()) == 0;
}

/// " (it is a GIF)", for kinds that people have but this does not read.
std::string guess(const std::vector<unsigned char>& file) {
  if (begins(file, "GIF8")) return " (it is a GIF)";
  if (begins(file, "RIFF") && begins(file, "WEBP", 8)) return " (it is a WebP)";
  if (begins(file, "BM")) return " (it looks like a BMP)";
  if (begins(file, "II*") || begins(file, std::string_view("MM\0*", 4))) return " (it is a TIFF)";
  if (begins(file, "ftyp", 4)) return " (it is a HEIC, an AVIF or a film)";
  if (begins(file, "version https://git-lfs")) return " (it is a pointer of Git LFS: fetch the real file)";
  return {};
}

std::vector<unsigned char> bytes_of(const std::string& path) {
  try {
    return sdk::read_file(path, kMaxFileBytes);
  } catch (const sdk::Error& e) {
    const std::string_view text = e.what();
    throw BadPicture(std::string(text.substr(path.size() + 2)));  // "FILE: REASON", and the file is known
  }
}

}  // namespace

Picture read_picture(const std::string& path, const Limits& limits) {
  std::vector<unsigned char> file = bytes_of(path);
  if (file.empty()) throw BadPicture("is empty");
  if (begins(file, "\xff\xd8\xff")) return decode_jpeg(file, limits);
  if (begins(file, "\x89PNG\r\n\x1a\n")) return decode_png(file, limits);
  throw BadPicture("neither JPEG nor PNG" + guess(file));
}

}  // namespace convoy::image_folder
