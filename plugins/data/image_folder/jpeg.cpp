// Decoding as Pillow does it: slow integer transform, smooth upsampling, CMYK taken as inverted (Adobe's habit).
// libjpeg reports by jumping, so the function that it jumps back to holds nothing that needs a destructor.
#include "jpeg.hpp"

#include "bad_picture.hpp"
#include "exif.hpp"

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <string>

#include <jerror.h>
#include <jpeglib.h>

namespace convoy::image_folder {
namespace {

constexpr int kMaxScans = 500;         // a real progressive file has about ten
constexpr uint64_t kMaxScanWork = 20;  // scans x pixels, in pictures of the largest size
constexpr long kBaseMemory = 64L << 20;
constexpr uint64_t kBytesPerPixel = 16;  // coefficients of a progressive picture with four full channels, twice over

struct Reading {
  jpeg_decompress_struct decoder;
  jpeg_error_mgr errors;
  jpeg_progress_mgr progress;
  std::jmp_buf back;
  char reason[JMSG_LENGTH_MAX];
  uint64_t max_scan_work;
  const unsigned char* end_of_file;
  int orientation;
};

Reading& reading_of(j_common_ptr c) { return *static_cast<Reading*>(c->client_data); }

[[noreturn]] void stop(j_common_ptr c) {
  Reading& r = reading_of(c);
  c->err->format_message(c, r.reason);
  std::longjmp(r.back, 1);
}

[[noreturn]] void stop_because(Reading& r, const char* reason) {
  std::snprintf(r.reason, sizeof(r.reason), "%s", reason);
  std::longjmp(r.back, 1);
}

/// Warnings that leave every pixel as it was meant.
bool harmless(int warning) {
  switch (warning) {
    case JWRN_ADOBE_XFORM:
    case JWRN_EXTRANEOUS_DATA:
    case JWRN_JFIF_MAJOR:
    case JWRN_NOT_SEQUENTIAL:
    case JWRN_BOGUS_ICC: return true;
    default: return false;
  }
}

void hear(j_common_ptr c, int level) {
  if (level < 0 && !harmless(c->err->msg_code)) stop(c);
}

void print_nothing(j_common_ptr) {}

void watch(j_common_ptr c) {
  Reading& r = reading_of(c);
  const auto scans = static_cast<uint64_t>(r.decoder.input_scan_number);
  const uint64_t pixels = uint64_t{r.decoder.image_width} * r.decoder.image_height;
  if (r.decoder.input_scan_number > kMaxScans || scans * pixels > r.max_scan_work)
    stop_because(r, "has so many progressive scans that it looks made to keep a decoder busy");
}

void read_orientation(Reading& r) {
  constexpr std::size_t kMark = 6;
  for (jpeg_saved_marker_ptr m = r.decoder.marker_list; m != nullptr; m = m->next)
    if (m->marker == JPEG_APP0 + 1 && m->data_length > kMark && std::memcmp(m->data, "Exif\0\0", kMark) == 0) {
      r.orientation = exif_orientation(m->data + kMark, m->data_length - kMark);
      return;
    }
}

void choose_output(jpeg_decompress_struct& d) {
  d.out_color_space = d.jpeg_color_space == JCS_CMYK || d.jpeg_color_space == JCS_YCCK ? JCS_CMYK : JCS_RGB;
  d.dct_method = JDCT_ISLOW;
  d.do_fancy_upsampling = TRUE;
}

bool begin(Reading& r, const std::vector<unsigned char>& file) {
  r.decoder.err = jpeg_std_error(&r.errors);
  r.errors.error_exit = stop;
  r.errors.emit_message = hear;
  r.errors.output_message = print_nothing;
  r.decoder.client_data = &r;
  if (setjmp(r.back) != 0) return false;
  jpeg_create_decompress(&r.decoder);
  r.progress.progress_monitor = watch;
  r.decoder.progress = &r.progress;
  jpeg_mem_src(&r.decoder, file.data(), file.size());
  jpeg_save_markers(&r.decoder, JPEG_APP0 + 1, 0xffff);
  jpeg_read_header(&r.decoder, TRUE);
  read_orientation(r);
  choose_output(r.decoder);
  return true;
}

/// All rows, `stride` bytes each, from `out` on.
bool read_rows(Reading& r, unsigned char* out, std::size_t stride) {
  if (setjmp(r.back) != 0) return false;
  jpeg_start_decompress(&r.decoder);
  if (jpeg_has_multiple_scans(&r.decoder) && r.decoder.src->next_input_byte > r.end_of_file)
    stop_because(r, "cut short: the end marker is missing");
  while (r.decoder.output_scanline < r.decoder.output_height) {
    JSAMPROW row = out + r.decoder.output_scanline * stride;
    jpeg_read_scanlines(&r.decoder, &row, 1);
  }
  return true;
}

/// a * b / 255, rounded: Pillow's MULDIV255.
unsigned int times(unsigned int a, unsigned int b) {
  const unsigned int t = a * b + 128;
  return ((t >> 8) + t) >> 8;
}

/// From inverted CMYK. Ink takes light away from what black leaves.
std::vector<unsigned char> rgb_of_cmyk(const std::vector<unsigned char>& cmyk) {
  std::vector<unsigned char> out(cmyk.size() / 4 * 3);
  for (std::size_t i = 0; i < cmyk.size() / 4; ++i) {
    const unsigned int light = cmyk[i * 4 + 3];
    for (std::size_t c = 0; c < 3; ++c) {
      const unsigned int ink = 255u - cmyk[i * 4 + c];
      out[i * 3 + c] = static_cast<unsigned char>(light - times(ink, light));
    }
  }
  return out;
}

struct Owner {
  Reading reading{};
  ~Owner() { jpeg_destroy_decompress(&reading.decoder); }
};

void check_size(const jpeg_decompress_struct& d, const Limits& limits) {
  const uint64_t pixels = uint64_t{d.image_width} * d.image_height;
  if (pixels > limits.pixels)
    throw BadPicture("claims " + std::to_string(d.image_width) + " x " + std::to_string(d.image_height) +
                     " pixels; at most " + std::to_string(limits.pixels) + " pixels are decoded (max_pixels)");
}

}  // namespace

Picture decode_jpeg(std::vector<unsigned char>& file, const Limits& limits) {
  const std::size_t size = file.size();
  file.push_back(0xff);  // a picture that lacks nothing but its end marker is whole; one that lacks more is found out
  file.push_back(JPEG_EOI);
  Owner owner;
  Reading& r = owner.reading;
  r.orientation = 1;
  r.end_of_file = file.data() + size;
  r.max_scan_work = kMaxScanWork * limits.pixels;
  if (!begin(r, file)) throw BadPicture(std::string("JPEG: ") + r.reason);
  check_size(r.decoder, limits);
  const uint64_t pixels = uint64_t{r.decoder.image_width} * r.decoder.image_height;
  r.decoder.mem->max_memory_to_use = kBaseMemory + static_cast<long>(kBytesPerPixel * pixels);

  const std::size_t channels = r.decoder.out_color_space == JCS_CMYK ? 4 : 3;
  std::vector<unsigned char> rows(static_cast<std::size_t>(pixels) * channels);
  if (!read_rows(r, rows.data(), std::size_t{r.decoder.image_width} * channels))
    throw BadPicture(std::string("JPEG: ") + r.reason);
  Picture out{r.decoder.image_width, r.decoder.image_height, {}};
  out.rgb = channels == 4 ? rgb_of_cmyk(rows) : std::move(rows);
  return upright(std::move(out), r.orientation);
}

}  // namespace convoy::image_folder
