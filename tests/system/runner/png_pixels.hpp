// Pixels of the small PNG files that the tests compare with: 8-bit RGB, not interlaced. Not a PNG reader for data.
#pragma once

#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

namespace convoy::testing {

/// Planar: all red, all green, all blue bytes, row by row, as the CIFAR binary files have them.
inline std::vector<unsigned char> planar_png(const std::string& file, std::size_t side) {
  const auto word = [&](std::size_t at) {
    uint32_t v = 0;
    for (int i = 0; i < 4; ++i) v = v << 8 | static_cast<unsigned char>(file.at(at + static_cast<std::size_t>(i)));
    return v;
  };
  std::string packed;
  for (std::size_t at = 8; at < file.size(); at += word(at) + 12)
    if (file.compare(at + 4, 4, "IDAT") == 0) packed += file.substr(at + 8, word(at));
  const std::size_t stride = side * 3;
  std::vector<unsigned char> raw(side * (stride + 1));
  uLongf size = raw.size();
  if (uncompress(raw.data(), &size, reinterpret_cast<const Bytef*>(packed.data()), packed.size()) != Z_OK || size != raw.size())
    throw std::runtime_error("this is not the PNG that the tests expect");
  std::vector<unsigned char> rows(side * stride), out(side * stride);
  for (std::size_t y = 0; y < side; ++y)
    for (std::size_t x = 0; x < stride; ++x) {
      const int left = x >= 3 ? rows[y * stride + x - 3] : 0, up = y > 0 ? rows[(y - 1) * stride + x] : 0;
      const int corner = x >= 3 && y > 0 ? rows[(y - 1) * stride + x - 3] : 0;
      const int p = left + up - corner, a = std::abs(p - left), b = std::abs(p - up), c = std::abs(p - corner);
      const int paeth = a <= b && a <= c ? left : b <= c ? up : corner;
      const int predictors[] = {0, left, up, (left + up) / 2, paeth};  // PNG specification, section 9
      rows[y * stride + x] = static_cast<unsigned char>(raw[y * (stride + 1) + 1 + x] + predictors[raw[y * (stride + 1)]]);
    }
  for (std::size_t i = 0; i < side * side; ++i)
    for (std::size_t c = 0; c < 3; ++c) out[c * side * side + i] = rows[i * 3 + c];
  return out;
}

}  // namespace convoy::testing
