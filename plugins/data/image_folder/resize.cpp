// Pillow's src/libImaging/Resample.c in outline: weights in double, normalised, turned into integers of 22 bits; one
// pass along rows with bytes between, one along columns. Each byte of the result depends on the same roundings.
#include "resize.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace convoy::image_folder {
namespace {

constexpr int kBits = 32 - 8 - 2;

/// For each output pixel of one direction the inputs it reads, and their weights.
struct Weights {
  std::size_t taps = 0;             // room per output
  std::vector<uint32_t> first;      // input, counted from the part's edge
  std::vector<uint32_t> count;
  std::vector<int32_t> weight;      // taps per output

  const int32_t* of(std::size_t out) const { return weight.data() + out * taps; }
};

int32_t fixed(double w) { return static_cast<int32_t>(w < 0 ? w * (1 << kBits) - 0.5 : w * (1 << kBits) + 0.5); }

/// Outputs [begin, begin + n) of `in` inputs resized to `out`.
Weights weights(uint32_t in, uint32_t out, uint32_t begin, uint32_t n) {
  const double scale = static_cast<double>(in) / out;
  const double wide = std::max(scale, 1.0);  // the triangle covers at least its neighbours, or what is shrunk into one
  Weights w;
  w.taps = static_cast<std::size_t>(std::ceil(wide)) * 2 + 1;
  w.weight.resize(w.taps * n);
  std::vector<double> real(w.taps);
  for (uint32_t i = 0; i < n; ++i) {
    const double centre = (begin + i + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(centre - wide + 0.5));
    const int last = std::min(static_cast<int>(in), static_cast<int>(centre + wide + 0.5));
    double sum = 0;
    for (int x = first; x < last; ++x) {
      const double distance = std::abs((x - centre + 0.5) * (1.0 / wide));
      sum += real[static_cast<std::size_t>(x - first)] = distance < 1.0 ? 1.0 - distance : 0.0;
    }
    for (int x = 0; x < last - first; ++x) {
      double& v = real[static_cast<std::size_t>(x)];
      if (sum != 0) v /= sum;
      w.weight[i * w.taps + static_cast<std::size_t>(x)] = fixed(v);
    }
    w.first.push_back(static_cast<uint32_t>(first));
    w.count.push_back(static_cast<uint32_t>(last - first));
  }
  return w;
}

unsigned char byte_of(int32_t sum) { return static_cast<unsigned char>(std::clamp(sum >> kBits, 0, 255)); }

constexpr int32_t kHalf = 1 << (kBits - 1);

/// One row of the picture, shrunk or stretched along itself.
void along_row(const unsigned char* from, const Weights& w, unsigned char* to) {
  for (std::size_t x = 0; x < w.first.size(); ++x, to += 3) {
    const unsigned char* p = from + std::size_t{w.first[x]} * 3;
    const int32_t* k = w.of(x);
    int32_t r = kHalf, g = kHalf, b = kHalf;
    for (uint32_t i = 0; i < w.count[x]; ++i, p += 3) {
      r += p[0] * k[i];
      g += p[1] * k[i];
      b += p[2] * k[i];
    }
    to[0] = byte_of(r);
    to[1] = byte_of(g);
    to[2] = byte_of(b);
  }
}

}  // namespace

void resize(const Picture& from, const Resize& how, bool mirrored, unsigned char* planes) {
  const Weights across = weights(how.part.width, how.width, how.window.x, how.window.width);
  const Weights down = weights(how.part.height, how.height, how.window.y, how.window.height);
  const std::size_t width = how.window.width, row = width * 3;
  const uint32_t first = down.first.front(), last = down.first.back() + down.count.back();

  std::vector<unsigned char> rows((last - first) * row);
  for (uint32_t y = first; y < last; ++y)
    along_row(from.pixel(how.part.x, how.part.y + y), across, rows.data() + (y - first) * row);

  std::vector<int32_t> sums(row);
  const std::size_t plane = width * how.window.height;
  for (std::size_t y = 0; y < how.window.height; ++y) {
    std::fill(sums.begin(), sums.end(), kHalf);
    for (uint32_t i = 0; i < down.count[y]; ++i) {
      const int32_t k = down.of(y)[i];
      const unsigned char* p = rows.data() + (down.first[y] + i - first) * row;
      for (std::size_t x = 0; x < row; ++x) sums[x] += p[x] * k;
    }
    for (std::size_t x = 0; x < width; ++x)
      for (std::size_t c = 0; c < 3; ++c)
        planes[c * plane + y * width + (mirrored ? width - 1 - x : x)] = byte_of(sums[x * 3 + c]);
  }
}

}  // namespace convoy::image_folder
