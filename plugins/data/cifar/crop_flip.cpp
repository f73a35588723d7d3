// The augmentation, row by row.
#include "crop_flip.hpp"

#include "records.hpp"

#include <algorithm>
#include <cstring>

namespace convoy::cifar {
namespace {

constexpr int kBorder = 4;
constexpr int kWidth = static_cast<int>(kSide);

/// Row `row` of a plane moved by `shift` columns; what comes from outside is 0.
void move_row(const unsigned char* from, unsigned char* to, int shift) {
  const int first = std::max(0, -shift);
  const int last = std::min(kWidth, kWidth - shift);
  std::memset(to, 0, kSide);
  std::memcpy(to + first, from + first + shift, static_cast<std::size_t>(last - first));
}

}  // namespace

void crop_and_flip(const unsigned char* from, unsigned char* to, sdk::Random& random) {
  const int down = static_cast<int>(random.below(2 * kBorder + 1)) - kBorder;
  const int right = static_cast<int>(random.below(2 * kBorder + 1)) - kBorder;
  const bool mirrored = random.below(2) == 1;
  for (int plane = 0; plane < 3; ++plane)
    for (int row = 0; row < kWidth; ++row) {
      unsigned char* out = to + (plane * kWidth + row) * kWidth;
      const int source = row + down;
      if (source < 0 || source >= kWidth)
        std::memset(out, 0, kSide);
      else
        move_row(from + (plane * kWidth + source) * kWidth, out, right);
      if (mirrored) std::reverse(out, out + kWidth);
    }
}

}  // namespace convoy::cifar
