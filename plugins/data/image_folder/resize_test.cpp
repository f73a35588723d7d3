// Tests of resizing against Pillow's bytes, and of where the parts of a picture are cut out.
#include "resize.hpp"

#include "crop.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>

using namespace convoy::image_folder;
namespace sdk = convoy::sdk;

namespace {

/// A picture by a formula, which Pillow was given too.
Picture pattern(uint32_t width, uint32_t height) {
  Picture p{width, height, {}};
  for (uint32_t y = 0; y < height; ++y)
    for (uint32_t x = 0; x < width; ++x)
      for (uint32_t c = 0; c < 3; ++c)
        p.rgb.push_back(static_cast<unsigned char>(x * 7 + y * 13 + c * 50 + (x * y) % 11 * 9));
  return p;
}

std::vector<unsigned char> resized(const Picture& p, const Resize& how, bool mirrored = false) {
  std::vector<unsigned char> out(std::size_t{3} * how.window.width * how.window.height);
  resize(p, how, mirrored, out.data());
  return out;
}

Resize whole(const Picture& p, uint32_t width, uint32_t height) {
  return {{0, 0, p.width, p.height}, width, height, {0, 0, width, height}};
}

/// FNV-1a of the bytes, pixel after pixel.
uint64_t hash(const std::vector<unsigned char>& planes) {
  uint64_t h = 0xcbf29ce484222325u;
  const std::size_t plane = planes.size() / 3;
  for (std::size_t i = 0; i < planes.size(); ++i) h = (h ^ planes[i % 3 * plane + i / 3]) * 0x100000001b3u;
  return h;
}

struct Golden {
  uint32_t from_width, from_height, width, height;
  uint64_t hash;                              // of all of Image.resize(BILINEAR)
  std::array<unsigned char, 3> first;
};

// Pillow 11.0.0. Pillow 13.0.0 gives the same but for the second: it works along columns first where that is much less work.
constexpr Golden kGolden[] = {
    {40, 30, 12, 9, 0x5ca7cd81f19a59b7u, {48, 98, 148}},   {10, 10, 25, 7, 0xc4f3586a49891da0u, {4, 54, 104}},
    {33, 17, 33, 17, 0xe0e1b8cc0b69079au, {0, 50, 100}},   {100, 3, 4, 4, 0x770f338bb7667a28u, {101, 138, 151}},
    {348, 464, 110, 146, 0xeef0c25b7fcd71dfu, {44, 94, 144}}, {1, 1, 3, 2, 0xba37d6cf26b1e6fdu, {0, 50, 100}},
};

}  // namespace

TEST_SUITE("data/image_folder/resize") {
  TEST_CASE("every byte is Pillow's, shrinking, stretching, both, and neither") {
    for (const Golden& g : kGolden) {
      CAPTURE(g.from_width);
      const Picture p = pattern(g.from_width, g.from_height);
      const auto out = resized(p, whole(p, g.width, g.height));
      const std::size_t plane = out.size() / 3;
      for (std::size_t c = 0; c < 3; ++c) CHECK(out[c * plane] == g.first[c]);
      CHECK(hash(out) == g.hash);
    }
  }

  TEST_CASE("a window is cut out of the resized picture, and a mirror turns its rows round") {
    const Picture p = pattern(40, 30);
    const auto all = resized(p, whole(p, 12, 9));
    Resize how = whole(p, 12, 9);
    how.window = {3, 2, 5, 4};
    const auto part = resized(p, how), mirrored = resized(p, how, true);
    for (std::size_t c = 0; c < 3; ++c)
      for (std::size_t y = 0; y < 4; ++y)
        for (std::size_t x = 0; x < 5; ++x) {
          CHECK(part[c * 20 + y * 5 + x] == all[c * 108 + (y + 2) * 12 + x + 3]);
          CHECK(mirrored[c * 20 + y * 5 + 4 - x] == part[c * 20 + y * 5 + x]);
        }
  }

  TEST_CASE("only the part is read: the same as if the picture had been cut first") {
    const Picture p = pattern(40, 30);
    Picture cut{20, 10, {}};
    for (uint32_t y = 0; y < 10; ++y) cut.rgb.insert(cut.rgb.end(), p.pixel(7, y + 5), p.pixel(7, y + 5) + 60);
    CHECK(resized(p, {{7, 5, 20, 10}, 8, 8, {0, 0, 8, 8}}) == resized(cut, whole(cut, 8, 8)));
  }

  TEST_CASE("the middle is torchvision's: shorter side, rounded down along the other, half to even") {
    const Resize wide = middle(464, 348, 256, 224, 224);
    CHECK(wide.width == 341);  // 256 * 464 / 348 = 341.3
    CHECK(wide.height == 256);
    CHECK(wide.window.x == 58);  // 58.5 is half way: to the even one
    CHECK(wide.window.y == 16);
    const Resize tall = middle(300, 900, 110, 96, 96);
    CHECK(tall.width == 110);
    CHECK(tall.height == 330);
    CHECK(tall.window.x == 7);
    CHECK(tall.window.y == 117);
  }

  TEST_CASE("random parts lie inside, keep their bounds, and reach all of them") {
    double smallest = 1, largest = 0;
    for (uint64_t i = 0; i < 2000; ++i) {
      sdk::Random random(5, sdk::RandomUse::augment, 0, i);
      const Box b = random_part(200, 150, 0.25, 64, 64, random).part;
      REQUIRE(b.width > 0);
      REQUIRE((b.x + b.width <= 200 && b.y + b.height <= 150));
      const double share = b.width * b.height / 30000.0, ratio = static_cast<double>(b.width) / b.height;
      // Sides are rounded to whole pixels: of 75, half a pixel is under 1 %.
      REQUIRE((share > 0.25 * 0.98 && ratio > 0.75 * 0.98 && ratio < 4.0 / 3 * 1.02));
      smallest = std::min(smallest, share);
      largest = std::max(largest, share);
    }
    CHECK(smallest < 0.27);
    CHECK(largest > 0.95);
  }

  TEST_CASE("where no part fits, the middle with the nearest ratio is taken") {
    sdk::Random random(5, sdk::RandomUse::augment, 0, 0);
    const Box b = random_part(1000, 3, 0.9, 8, 8, random).part;
    CHECK(b.width == 4);
    CHECK(b.height == 3);
    CHECK(b.x == 498);
  }
}
