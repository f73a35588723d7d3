// Exif 2.32, section 4.6: a TIFF header, then directories of 12-byte entries. Orientation is tag 0x0112 of the first.
#include "exif.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

namespace convoy::image_folder {
namespace {

constexpr uint32_t kOrientation = 0x0112;
constexpr uint32_t kShort = 3;

/// Bounded reading in either byte order; outside is 0.
struct Tiff {
  const unsigned char* data;
  std::size_t size;
  bool big;

  uint32_t number(std::size_t at, std::size_t bytes) const {
    if (at > size || size - at < bytes) return 0;
    uint32_t out = 0;
    for (std::size_t i = 0; i < bytes; ++i) out |= uint32_t{data[at + i]} << (8 * (big ? bytes - 1 - i : i));
    return out;
  }
};

/// Where pixel (x, y) of the upright picture lies in the stored one, which is w x h.
std::pair<uint32_t, uint32_t> source(int orientation, uint32_t x, uint32_t y, uint32_t w, uint32_t h) {
  switch (orientation) {
    case 2: return {w - 1 - x, y};
    case 3: return {w - 1 - x, h - 1 - y};
    case 4: return {x, h - 1 - y};
    case 5: return {y, x};
    case 6: return {y, h - 1 - x};
    case 7: return {w - 1 - y, h - 1 - x};
    case 8: return {w - 1 - y, x};
    default: return {x, y};
  }
}

}  // namespace

int exif_orientation(const unsigned char* data, std::size_t size) {
  if (size < 8) return 1;
  const bool big = std::memcmp(data, "MM\0*", 4) == 0;
  if (!big && std::memcmp(data, "II*\0", 4) != 0) return 1;
  const Tiff tiff{data, size, big};
  const std::size_t directory = tiff.number(4, 4);
  const uint32_t entries = tiff.number(directory, 2);
  for (uint32_t i = 0; i < entries; ++i) {
    const std::size_t entry = directory + 2 + std::size_t{i} * 12;
    if (entry + 12 > size) return 1;
    if (tiff.number(entry, 2) != kOrientation || tiff.number(entry + 2, 2) != kShort) continue;
    const uint32_t value = tiff.number(entry + 8, 2);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Picture upright(Picture stored, int orientation) {
  if (orientation <= 1 || orientation > 8) return stored;
  Picture out;
  const bool turned = orientation >= 5;
  out.width = turned ? stored.height : stored.width;
  out.height = turned ? stored.width : stored.height;
  out.rgb.resize(stored.rgb.size());
  unsigned char* to = out.rgb.data();
  for (uint32_t y = 0; y < out.height; ++y)
    for (uint32_t x = 0; x < out.width; ++x, to += 3) {
      const auto [from_x, from_y] = source(orientation, x, y, stored.width, stored.height);
      std::copy_n(stored.pixel(from_x, from_y), 3, to);
    }
  return out;
}

}  // namespace convoy::image_folder
