// Tests of decoding: small PNG files of every kind, the odd and broken pictures of the shared data, and the limits.
// Expected pixels are Pillow's (convert("RGB") after exif_transpose), but for 16-bit gray: Pillow cuts that off at 255,
// which makes pictures white; here, as in torchvision's own reader, the upper byte stays.
#include "decode.hpp"

#include "bad_picture.hpp"
#include "exif.hpp"
#include "jpeg.hpp"
#include "png.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <jpeglib.h>
#include <sys/resource.h>

#include "shared_data.hpp"

using namespace convoy::image_folder;

namespace {

struct SmallPng {
  const char* what;
  const char* hex;
  uint32_t width, height;
  std::vector<unsigned char> rgb;
};

std::vector<unsigned char> bytes_of(const std::string& hex) {
  std::vector<unsigned char> out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    out.push_back(static_cast<unsigned char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return out;
}

const std::vector<SmallPng>& small_pngs() {
  static const std::vector<SmallPng> all{
    {"gray 1 bit",
     "89504e470d0a1a0a0000000d49484452000000020000000201000000005acd30890000000c4944415478da637060680000014400c10487cffa0000000049454e44ae426082",
     2, 2, {0, 0, 0, 255, 255, 255, 255, 255, 255, 0, 0, 0}},
    {"gray 2 bit",
     "89504e470d0a1a0a0000000d49484452000000020000000202000000001d6d4a590000000c4944415478da631060d8000000e400c119553bfb0000000049454e44ae426082",
     2, 2, {0, 0, 0, 85, 85, 85, 170, 170, 170, 255, 255, 255}},
    {"gray 4 bit",
     "89504e470d0a1a0a0000000d4948445200000002000000020400000000922dbff90000000c4944415478da63e067b00200006b004ae0f454e40000000049454e44ae426082",
     2, 2, {0, 0, 0, 255, 255, 255, 51, 51, 51, 170, 170, 170}},
    {"gray 16 bit",
     "89504e470d0a1a0a0000000d4948445200000002000000021000000000074d8ebb000000124944415478da63606010facfd0f0ffff7f000e7c048f041083440000000049454e44ae426082",
     2, 2, {0, 0, 0, 18, 18, 18, 128, 128, 128, 255, 255, 255}},
    {"rgb 16 bit",
     "89504e470d0a1a0a0000000d4948445200000002000000021002000000ad444630000000234944415478da6360fccfc4c0bccae17fc0ff84ff0c0c0cffffd7ff176a6810fad700008acc0bbb4e1ebbd10000000049454e44ae426082",
     2, 2, {1, 2, 3, 64, 80, 96, 0, 255, 127, 18, 128, 254}},
    {"gray alpha",
     "89504e470d0a1a0a0000000d4948445200000002000000020804000000d8bfc5af000000124944415478da63e06210696090fbafc1080007b601e544af00e20000000049454e44ae426082",
     2, 2, {10, 10, 10, 20, 20, 20, 30, 30, 30, 40, 40, 40}},
    {"rgba",
     "89504e470d0a1a0a0000000d494844520000000200000002080600000072b60d240000001a4944415478da63606462666061656b6060e7e0fcffebf71f6600149704a16f726e9f0000000049454e44ae426082",
     2, 2, {1, 2, 3, 4, 5, 6, 7, 8, 9, 250, 251, 252}},
    {"palette",
     "89504e470d0a1a0a0000000d49484452000000020000000208030000004568fd1600000009504c5445ff000000fe000102fdcdd08da30000000274524e5300809b2b4e180000000e4944415478da6360606460620400000f000536b42a390000000049454e44ae426082",
     2, 2, {255, 0, 0, 0, 254, 0, 1, 2, 253, 0, 254, 0}},
    {"rgb with key",
     "89504e470d0a1a0a0000000d4948445200000002000000020802000000fdd49a730000000674524e53000900080007f3c1a1fb000000144944415478da63e0e4606764646460626202b200019b003aed2dd3a80000000049454e44ae426082",
     2, 2, {9, 8, 7, 1, 1, 1, 2, 2, 2, 9, 8, 7}},
    {"interlaced",
     "89504e470d0a1a0a0000000d49484452000000030000000308000000010444daf5000000174944415478da63e0629063708b6210610860d030b201000b1d01c3f1e7f5cf0000000049454e44ae426082",
     3, 3, {10, 10, 10, 20, 20, 20, 30, 30, 30, 40, 40, 40, 50, 50, 50, 60, 60, 60, 70, 70, 70, 80, 80, 80, 90, 90, 90}},
    {"turned",
     "89504e470d0a1a0a0000000d4948445200000003000000010802000000948283e30000001a655849664d4d002a00000008000101120003000000010006000000000000d6674b69000000124944415478da6360646266616563e7e0040000af002e638d345e0000000049454e44ae426082",
     1, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9}},
  };
  return all;
}

struct Good {
  const char* file;
  uint32_t width, height;
  std::array<double, 3> mean;               // red, green, blue
  std::array<unsigned char, 3> first;       // the top left pixel
};

// Another libjpeg may round another way in smooth upsampling; a wrong channel, turn or inversion is off by far more.
constexpr double kMean = 0.1;
constexpr int kPixel = 1;

const Good kGood[] = {
    {"arithmetic_coded.jpg", 227, 149, {146.372, 90.511, 81.507}, {48, 47, 45}},
    {"cmyk.jpg", 100, 100, {30.232, 5.444, 7.386}, {255, 13, 25}},
    {"exif_orientation_3.jpg", 128, 128, {89.677, 80.051, 95.306}, {23, 19, 70}},
    {"exif_orientation_6.jpg", 128, 128, {89.675, 80.075, 95.337}, {25, 21, 72}},
    {"ff00_in_header.jpg", 300, 225, {116.449, 78.923, 77.159}, {78, 87, 20}},
    {"fuzz_d.jpg", 2, 2, {160.25, 215.75, 158.0}, {212, 255, 143}},
    {"gray.jpg", 128, 128, {84.692, 84.692, 84.692}, {26, 26, 26}},
    {"one_pixel.jpg", 1, 1, {98, 104, 18}, {98, 104, 18}},
    {"png_named.JPEG", 96, 128, {97.594, 102.599, 17.210}, {116, 68, 17}},
    {"progressive.jpg", 320, 240, {137.479, 143.196, 128.043}, {142, 152, 115}},
    {"quant_tables_16bit.jpg", 128, 128, {90.133, 80.283, 94.802}, {15, 5, 65}},
    {"trailing_garbage.jpg", 348, 348, {97.602, 102.606, 17.187}, {135, 89, 14}},
};

std::string reason(const std::string& path) {
  try {
    (void)read_picture(path, {});
  } catch (const BadPicture& e) {
    return e.what();
  }
  return "";
}

double mean(const Picture& p, std::size_t channel) {
  double sum = 0;
  for (std::size_t i = channel; i < p.rgb.size(); i += 3) sum += p.rgb[i];
  return sum / (static_cast<double>(p.rgb.size()) / 3);
}

/// A gray progressive JPEG of two scans: all of the means, then all the rest.
std::vector<unsigned char> two_scans(JDIMENSION side) {
  jpeg_compress_struct c{};
  jpeg_error_mgr errors{};
  c.err = jpeg_std_error(&errors);
  jpeg_create_compress(&c);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&c, &bytes, &size);
  c.image_width = c.image_height = side;
  c.input_components = 1;
  c.in_color_space = JCS_GRAYSCALE;
  jpeg_set_defaults(&c);
  const jpeg_scan_info scans[] = {{1, {0}, 0, 0, 0, 0}, {1, {0}, 1, 63, 0, 0}};
  c.scan_info = scans;
  c.num_scans = 2;
  jpeg_start_compress(&c, TRUE);
  std::vector<unsigned char> row(side);
  for (JDIMENSION y = 0; y < side; ++y) {
    for (JDIMENSION x = 0; x < side; ++x) row[x] = static_cast<unsigned char>(x * y);
    JSAMPROW rows = row.data();
    jpeg_write_scanlines(&c, &rows, 1);
  }
  jpeg_finish_compress(&c);
  jpeg_destroy_compress(&c);
  std::vector<unsigned char> out(bytes, bytes + size);
  std::free(bytes);
  return out;
}

/// The same with its second scan, which says nothing new, `times` times.
std::vector<unsigned char> scan_bomb(const std::vector<unsigned char>& file, int times) {
  constexpr unsigned char kStart[] = {0xff, 0xda};
  const auto last = std::find_end(file.begin(), file.end(), std::begin(kStart), std::end(kStart));
  std::vector<unsigned char> out(file.begin(), last);
  for (int i = 0; i < times; ++i) out.insert(out.end(), last, file.end() - 2);
  out.insert(out.end(), {0xff, 0xd9});
  return out;
}

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_SUITE("data/image_folder/decode") {
  TEST_CASE("PNG of every depth, palette, alpha, interlaced and turned gives Pillow's pixels") {
    for (const SmallPng& s : small_pngs()) {
      CAPTURE(s.what);
      const Picture p = decode_png(bytes_of(s.hex), {});
      CHECK(p.width == s.width);
      CHECK(p.height == s.height);
      CHECK(p.rgb == s.rgb);
    }
  }

  TEST_CASE("a PNG is refused where it is cut, at every byte before its end") {
    const std::vector<unsigned char> whole = bytes_of(small_pngs().front().hex);
    constexpr std::size_t kChecksum = 4;  // of the end mark, which has no content to protect
    for (std::size_t n = 0; n + kChecksum < whole.size(); ++n) {
      CAPTURE(n);
      CHECK_THROWS_AS((void)decode_png({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)}, {}), BadPicture);
    }
  }

  TEST_CASE("all eight orientations are set upright") {
    // 1 2 3    Seen upright it is this; stored, each orientation has its corners elsewhere (Exif 2.32, 4.6.4).
    // 4 5 6
    const auto picture = [](uint32_t w, uint32_t h, std::vector<unsigned char> gray) {
      Picture p{w, h, {}};
      for (unsigned char g : gray) p.rgb.insert(p.rgb.end(), 3, g);
      return p;
    };
    const std::vector<unsigned char> upright_rgb = picture(3, 2, {1, 2, 3, 4, 5, 6}).rgb;
    const Picture stored[] = {picture(3, 2, {1, 2, 3, 4, 5, 6}), picture(3, 2, {3, 2, 1, 6, 5, 4}),
                              picture(3, 2, {6, 5, 4, 3, 2, 1}), picture(3, 2, {4, 5, 6, 1, 2, 3}),
                              picture(2, 3, {1, 4, 2, 5, 3, 6}), picture(2, 3, {3, 6, 2, 5, 1, 4}),
                              picture(2, 3, {6, 3, 5, 2, 4, 1}), picture(2, 3, {4, 1, 5, 2, 6, 3})};
    for (int o = 1; o <= 8; ++o) {
      CAPTURE(o);
      const Picture p = upright(stored[o - 1], o);
      CHECK(p.width == 3);
      CHECK(p.height == 2);
      CHECK(p.rgb == upright_rgb);
    }
  }

  TEST_CASE("Exif is read in both byte orders, and what is broken means upright") {
    const std::string big("MM\0*\0\0\0\x08\0\1\1\x12\0\3\0\0\0\1\0\6\0\0", 22);
    const std::string little("II*\0\x08\0\0\0\1\0\x12\1\3\0\1\0\0\0\x08\0\0\0", 22);
    const auto orientation = [](const std::string& s) {
      return exif_orientation(reinterpret_cast<const unsigned char*>(s.data()), s.size());
    };
    CHECK(orientation(big) == 6);
    CHECK(orientation(little) == 8);
    for (std::size_t n = 0; n < big.size(); ++n) CHECK(orientation(big.substr(0, n)) == 1);
    std::string far = big;
    far[4] = far[5] = far[6] = far[7] = '\xff';
    CHECK(orientation(far) == 1);
    std::string nine = big;
    nine[19] = 9;
    CHECK(orientation(nine) == 1);
  }

  TEST_CASE("odd pictures that are whole look as they do elsewhere") {
    const auto shared = convoy::testing::shared_data();
    if (!shared) {
      MESSAGE("skipped: no shared data");
      return;
    }
    for (const Good& g : kGood) {
      CAPTURE(g.file);
      const Picture p = read_picture((*shared / "data" / "odd_images" / g.file).string(), {});
      CHECK(p.width == g.width);
      CHECK(p.height == g.height);
      for (std::size_t c = 0; c < 3; ++c) {
        CHECK(std::abs(mean(p, c) - g.mean[c]) < kMean);
        CHECK(std::abs(p.rgb[c] - g.first[c]) <= kPixel);
      }
    }
  }

  TEST_CASE("broken pictures are refused with a reason that says what is wrong") {
    const auto shared = convoy::testing::shared_data();
    if (!shared) {
      MESSAGE("skipped: no shared data");
      return;
    }
    const std::pair<const char*, const char*> cases[] = {
        {"truncated_photo.jpg", "premature end"},   {"truncated_progressive.jpg", "JPEG: "},
        {"empty.jpg", "is empty"},                  {"text_named.jpg", "neither JPEG nor PNG"},
        {"size_65500x65500.jpg", "65500 x 65500"},  {"bad_ihdr_crc.png", "checksum"},
        {"bad_idat_crc.png", "checksum"},                {"no_idat.png", "PNG: "},
        {"bad_chunk_data.png", "PNG: "},            {"fuzz_a.jpg", "JPEG: "},
        {"fuzz_b.jpg", "JPEG: "},                   {"fuzz_c.jpg", "JPEG: "}};
    for (const auto& [file, why] : cases) {
      const std::string said = reason((*shared / "data" / "odd_images" / file).string());
      CAPTURE(file);
      CAPTURE(said);
      CHECK(has(said, why));
    }
  }

  TEST_CASE("a claim of 65500 x 65500 costs no memory") {
    const auto shared = convoy::testing::shared_data();
    if (!shared) {
      MESSAGE("skipped: no shared data");
      return;
    }
    rusage before{}, after{};
    ::getrusage(RUSAGE_SELF, &before);
    CHECK(has(reason((*shared / "data" / "odd_images" / "size_65500x65500.jpg").string()), "max_pixels"));
    ::getrusage(RUSAGE_SELF, &after);
    CHECK(after.ru_maxrss - before.ru_maxrss < 64 * 1024);  // KiB
  }

  TEST_CASE("a picture of very many scans is refused, by their number or by the work that they are") {
    const std::vector<unsigned char> file = two_scans(32);
    const auto said = [&](int times, const Limits& limits) -> std::string {
      std::vector<unsigned char> bomb = scan_bomb(file, times);
      try {
        (void)decode_jpeg(bomb, limits);
      } catch (const BadPicture& e) {
        return e.what();
      }
      return "";
    };
    CHECK(said(1, {}) == "");
    CHECK(said(400, {}) == "");
    CHECK(has(said(600, {}), "scans"));
    CHECK(said(10, {32 * 32}) == "");
    CHECK(has(said(30, {32 * 32}), "scans"));
  }

  TEST_CASE("whatever byte is changed, a file is decoded or refused, and never beyond the limit") {
    constexpr Limits kSmall{4096};
    std::vector<std::vector<unsigned char>> files{two_scans(16)};
    for (const SmallPng& s : small_pngs()) files.push_back(bytes_of(s.hex));
    int decoded = 0, refused = 0;
    for (const auto& file : files)
      for (std::size_t i = 0; i < file.size(); ++i)
        for (const unsigned char change : {0x01, 0x80, 0xff}) {
          std::vector<unsigned char> other = file;
          other[i] ^= change;
          try {
            const Picture p = file[0] == 0xff ? decode_jpeg(other, kSmall) : decode_png(other, kSmall);
            REQUIRE(uint64_t{p.width} * p.height <= kSmall.pixels);
            REQUIRE(p.rgb.size() == std::size_t{3} * p.width * p.height);
            ++decoded;
          } catch (const BadPicture&) {
            ++refused;
          }
        }
    CHECK(decoded > 100);   // in tables and coefficients
    CHECK(refused > 1000);  // PNG has checksums
  }

  TEST_CASE("what is no file is a bad picture") {
    CHECK(has(reason("/nowhere/at/all.jpg"), "No such file"));
    CHECK(has(reason("/"), "not a regular file"));
  }
}
