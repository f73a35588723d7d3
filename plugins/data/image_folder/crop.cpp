// Sizes and places are rounded as torchvision rounds them: sides towards zero, places half to even.
#include "crop.hpp"

#include <algorithm>
#include <cmath>

namespace convoy::image_folder {
namespace {

constexpr double kNarrowest = 3.0 / 4.0;  // width / height
constexpr double kWidest = 4.0 / 3.0;
constexpr int kDraws = 10;

uint32_t rounded(double x) { return static_cast<uint32_t>(std::max(0.0, std::nearbyint(x))); }

Resize whole_of(const Box& part, uint32_t width, uint32_t height) { return {part, width, height, {0, 0, width, height}}; }

Box centred(uint32_t from_width, uint32_t from_height) {
  Box b{0, 0, from_width, from_height};
  const double ratio = static_cast<double>(from_width) / from_height;
  if (ratio < kNarrowest) b.height = std::clamp(rounded(from_width / kNarrowest), 1u, from_height);
  if (ratio > kWidest) b.width = std::clamp(rounded(from_height * kWidest), 1u, from_width);
  b.x = (from_width - b.width) / 2;
  b.y = (from_height - b.height) / 2;
  return b;
}

}  // namespace

Resize middle(uint32_t from_width, uint32_t from_height, uint32_t shorter, uint32_t width, uint32_t height) {
  const auto longer = [shorter](uint32_t a, uint32_t b) {
    return static_cast<uint32_t>(static_cast<double>(shorter) * a / b);
  };
  const bool tall = from_width <= from_height;
  const uint32_t w = tall ? shorter : longer(from_width, from_height);
  const uint32_t h = tall ? longer(from_height, from_width) : shorter;
  const Box window{rounded((w - width) / 2.0), rounded((h - height) / 2.0), width, height};
  return {{0, 0, from_width, from_height}, w, h, window};
}

Resize random_part(uint32_t from_width, uint32_t from_height, double min_area, uint32_t width, uint32_t height,
                   sdk::Random& random) {
  const double area = static_cast<double>(from_width) * from_height;
  for (int i = 0; i < kDraws; ++i) {
    const double part = area * (min_area + (1 - min_area) * static_cast<double>(random.uniform()));
    const double spread = std::log(kWidest) - std::log(kNarrowest);
    const double ratio = std::exp(std::log(kNarrowest) + spread * static_cast<double>(random.uniform()));
    const uint32_t w = rounded(std::sqrt(part * ratio)), h = rounded(std::sqrt(part / ratio));
    if (w == 0 || h == 0 || w > from_width || h > from_height) continue;
    const uint32_t y = random.below(from_height - h + 1), x = random.below(from_width - w + 1);
    return whole_of({x, y, w, h}, width, height);
  }
  return whole_of(centred(from_width, from_height), width, height);
}

}  // namespace convoy::image_folder
