// Decoding by libspng. Its limits on width and height take a limit each, the one on pixels is kept here.
#include "png.hpp"

#include "bad_picture.hpp"
#include "exif.hpp"

#include <memory>
#include <string>

#include <spng.h>

namespace convoy::image_folder {
namespace {

constexpr uint32_t kMaxSide = 1u << 20;
constexpr std::size_t kMaxChunk = std::size_t{16} << 20;   // of a text, a profile ...
constexpr std::size_t kMaxChunks = std::size_t{64} << 20;  // all that is kept of them

struct Free {
  void operator()(spng_ctx* c) const { spng_ctx_free(c); }
};

void check(int result) {
  if (result != 0) throw BadPicture(std::string("PNG: ") + spng_strerror(result));
}

int orientation_of(spng_ctx* c) {
  spng_exif exif{};
  if (spng_get_exif(c, &exif) != 0) return 1;
  return exif_orientation(reinterpret_cast<const unsigned char*>(exif.data), exif.length);
}

}  // namespace

Picture decode_png(const std::vector<unsigned char>& file, const Limits& limits) {
  const std::unique_ptr<spng_ctx, Free> context(spng_ctx_new(0));
  if (context == nullptr) throw std::bad_alloc();
  spng_ctx* c = context.get();
  check(spng_set_image_limits(c, kMaxSide, kMaxSide));
  check(spng_set_chunk_limits(c, kMaxChunk, kMaxChunks));
  check(spng_set_png_buffer(c, file.data(), file.size()));
  spng_ihdr header{};
  check(spng_get_ihdr(c, &header));
  if (uint64_t{header.width} * header.height > limits.pixels)
    throw BadPicture("claims " + std::to_string(header.width) + " x " + std::to_string(header.height) +
                     " pixels; at most " + std::to_string(limits.pixels) + " pixels are decoded (max_pixels)");
  std::size_t bytes = 0;
  check(spng_decoded_image_size(c, SPNG_FMT_RGB8, &bytes));
  Picture out{header.width, header.height, std::vector<unsigned char>(bytes)};
  check(spng_decode_image(c, out.rgb.data(), bytes, SPNG_FMT_RGB8, 0));
  check(spng_decode_chunks(c));  // the last data chunk's checksum, and what stands behind it
  return upright(std::move(out), orientation_of(c));
}

}  // namespace convoy::image_folder
