// A decoded picture in memory, and the limits that decoders keep. No file format is known here.
#pragma once

#include <cstdint>
#include <vector>

namespace convoy::image_folder {

/// Red, green, blue bytes, pixel after pixel, rows from the top.
struct Picture {
  uint32_t width = 0;
  uint32_t height = 0;
  std::vector<unsigned char> rgb;

  const unsigned char* pixel(uint32_t x, uint32_t y) const { return rgb.data() + (std::size_t{y} * width + x) * 3; }
};

/// What a file may ask for before anything is allocated for it.
struct Limits {
  uint64_t pixels = 100'000'000;
};

}  // namespace convoy::image_folder
