// The figures of the data plugin `shapes`, each as a distance to its outline. Nothing is drawn here.
#pragma once

#include <cstdint>

namespace convoy::shapes {

/// The value is the label.
enum class Figure : int32_t {
  circle = 0,
  square = 1,
  triangle = 2,
  cross = 3,
  ring = 4,
  star = 5,
  frame = 6,
  bar = 7,
  half_disc = 8,
  crescent = 9,
};

constexpr uint32_t kFigures = 10;

/// "circle"
const char* name_of(Figure f);

/// Distance of (x, y) to the outline of `f`, negative inside; y points down. Every figure fits the unit circle.
/// Exact near the outline, which is all that antialiasing needs; elsewhere perhaps too small.
float distance(Figure f, float x, float y);

}  // namespace convoy::shapes
