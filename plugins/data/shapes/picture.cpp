// Choices and pixels of one picture.
#include "picture.hpp"

#include <algorithm>
#include <cmath>

namespace convoy::shapes {
namespace {

constexpr float kSmallest = 0.25f;     // radius, as a share of the picture's shorter side
constexpr float kLargest = 0.42f;
constexpr float kContrast = 120.0f;    // distance in colour between figure and background, of at most 441
constexpr float kDrift = 30.0f;        // how far the background's colour changes, per channel
constexpr float kNoise = 20.0f;
constexpr float kTurn = 0.5f;  // radians, both ways

Colour random_colour(sdk::Random& random) {
  return {random.uniform(0, 255), random.uniform(0, 255), random.uniform(0, 255)};
}

float distance(const Colour& a, const Colour& b) {
  float sum = 0;
  for (std::size_t c = 0; c < 3; ++c) sum += (a[c] - b[c]) * (a[c] - b[c]);
  return std::sqrt(sum);
}

/// At least kContrast from `other`: where a random colour is too near, every channel moves by 100, towards the
/// middle, which is 173 in all.
Colour standing_apart(const Colour& other, sdk::Random& random) {
  const Colour first = random_colour(random);
  if (distance(first, other) >= kContrast) return first;
  Colour out{};
  for (std::size_t c = 0; c < 3; ++c) out[c] = other[c] < 127.5f ? other[c] + 100.0f : other[c] - 100.0f;
  return out;
}

Colour drifted(const Colour& from, sdk::Random& random) {
  Colour out = from;
  for (float& c : out) c = std::clamp(c + random.uniform(-kDrift, kDrift), 0.0f, 255.0f);
  return out;
}

/// Noise in [-1, 1) for one byte after another.
class Noise {
 public:
  explicit Noise(sdk::Random& random) : random_(random) {}
  float next() {
    if (left_ == 0) {
      word_ = random_.word();
      left_ = 4;
    }
    const auto byte = static_cast<float>(word_ & 0xffu);
    word_ >>= 8;
    --left_;
    return byte * (1 / 128.0f) - 1;
  }

 private:
  sdk::Random& random_;
  uint32_t word_ = 0;
  int left_ = 0;
};

/// How much of the pixel whose middle is (x, y) the figure covers, 0..1.
float coverage(const Picture& p, float cosine, float sine, float x, float y) {
  const float dx = (x - p.centre_x) / p.radius;
  const float dy = (y - p.centre_y) / p.radius;
  if (dx * dx + dy * dy > 1.5f) return 0;  // farther than any figure reaches, its soft edge included
  const float d = distance(p.figure, cosine * dx + sine * dy, cosine * dy - sine * dx);
  return std::clamp(0.5f - d * p.radius, 0.0f, 1.0f);
}

}  // namespace

Picture draw(Figure figure, uint32_t height, uint32_t width, sdk::Random& random) {
  const auto h = static_cast<float>(height), w = static_cast<float>(width);
  Picture p{};
  p.figure = figure;
  p.radius = std::min(h, w) * random.uniform(kSmallest, kLargest);
  p.centre_x = random.uniform(p.radius, w - p.radius);
  p.centre_y = random.uniform(p.radius, h - p.radius);
  p.angle = random.uniform(-kTurn, kTurn);
  p.background_from = random_colour(random);
  p.background_to = drifted(p.background_from, random);
  p.figure_colour = standing_apart(p.background_from, random);
  p.noise = random.uniform(0, kNoise);
  return p;
}

void render(const Picture& p, uint32_t height, uint32_t width, sdk::Random& random, unsigned char* out) {
  const float cosine = std::cos(p.angle), sine = std::sin(p.angle);
  const std::size_t plane = std::size_t{height} * width;
  const float across = 1.0f / static_cast<float>(height + width);
  Noise noise(random);
  for (uint32_t row = 0; row < height; ++row)
    for (uint32_t column = 0; column < width; ++column) {
      const float x = static_cast<float>(column) + 0.5f, y = static_cast<float>(row) + 0.5f;
      const float covered = coverage(p, cosine, sine, x, y);
      const float along = (x + y) * across;
      unsigned char* pixel = out + std::size_t{row} * width + column;
      for (std::size_t c = 0; c < 3; ++c) {
        const float behind = p.background_from[c] + along * (p.background_to[c] - p.background_from[c]);
        const float value = behind + covered * (p.figure_colour[c] - behind) + p.noise * noise.next();
        pixel[c * plane] = static_cast<unsigned char>(std::clamp(value + 0.5f, 0.0f, 255.0f));
      }
    }
}

}  // namespace convoy::shapes
