// One picture of `shapes`: the random choices that make it, and its pixels. Knows no dataset.
#pragma once

#include "figure.hpp"

#include <convoy/sdk/philox.hpp>

#include <array>
#include <cstdint>

namespace convoy::shapes {

using Colour = std::array<float, 3>;  // red, green, blue, 0..255

struct Picture {
  Figure figure;
  float centre_x;   // pixels
  float centre_y;
  float radius;     // pixels, of the circle around the figure
  float angle;      // radians
  Colour figure_colour;
  Colour background_from;  // changes along a line across the picture, top left to bottom right
  Colour background_to;
  float noise;      // largest change of a pixel, both ways
};

/// Draws all choices but the figure. The figure lies inside the picture, and its colour stands apart from the
/// background's.
Picture draw(Figure figure, uint32_t height, uint32_t width, sdk::Random& random);

/// Writes (3, height, width) bytes, edges antialiased over one pixel; takes the noise from `random`.
void render(const Picture& p, uint32_t height, uint32_t width, sdk::Random& random, unsigned char* out);

}  // namespace convoy::shapes
