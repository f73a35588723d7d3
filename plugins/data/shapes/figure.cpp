// Signed distances of the figures. Triangle and star fold the plane along their axes of symmetry first, so that
// one edge is left (Inigo Quilez, "2D distance functions").
#include "figure.hpp"

#include <algorithm>
#include <cmath>

namespace convoy::shapes {
namespace {

float length(float x, float y) { return std::sqrt(x * x + y * y); }  // hypot guards against overflow: slow

float box(float x, float y, float half_width, float half_height) {
  const float dx = std::abs(x) - half_width;
  const float dy = std::abs(y) - half_height;
  const float outside = length(std::max(dx, 0.0f), std::max(dy, 0.0f));
  return outside + std::min(std::max(dx, dy), 0.0f);
}

/// Equilateral, upright. The lower edge and, folded by x -> |x|, the slanted one.
float triangle(float x, float y) {
  constexpr float kInner = 0.475f;  // radius of the inscribed circle; the corners are at twice that
  const float slanted = std::abs(x) * 0.8660254f - y * 0.5f;
  return std::max(slanted, y) - kInner;
}

/// Five points. Folds into a tenth of the plane, then the distance to one edge.
float star(float x, float y) {
  constexpr float kOuter = 0.95f;
  constexpr float kInner = 0.40f;  // radius at the notches
  constexpr float kTenth = 0.62831853f;  // 36 degrees
  const float angle = std::abs(std::remainder(std::atan2(x, -y), 2 * kTenth));
  const float r = length(x, y);
  const float px = r * std::sin(angle), py = r * std::cos(angle);  // the point is on +y here
  const float nx = kInner * std::sin(kTenth), ny = kInner * std::cos(kTenth);
  const float ex = nx, ey = ny - kOuter;  // along the edge from (0, kOuter) to the notch
  return (ex * (kOuter - py) + ey * px) / -length(ex, ey);
}

}  // namespace

const char* name_of(Figure f) {
  switch (f) {
    case Figure::circle: return "circle";
    case Figure::square: return "square";
    case Figure::triangle: return "triangle";
    case Figure::cross: return "cross";
    case Figure::ring: return "ring";
    case Figure::star: return "star";
    case Figure::frame: return "frame";
    case Figure::bar: return "bar";
    case Figure::half_disc: return "half_disc";
    case Figure::crescent: return "crescent";
  }
  return "?";
}

float distance(Figure f, float x, float y) {
  switch (f) {
    case Figure::circle: return length(x, y) - 0.9f;
    case Figure::square: return box(x, y, 0.68f, 0.68f);
    case Figure::triangle: return triangle(x, y);
    case Figure::cross: return std::min(box(x, y, 0.92f, 0.27f), box(x, y, 0.27f, 0.92f));
    case Figure::ring: return std::abs(length(x, y) - 0.73f) - 0.19f;
    case Figure::star: return star(x, y);
    case Figure::frame: return std::abs(box(x, y, 0.53f, 0.53f)) - 0.15f;
    case Figure::bar: return box(x, y, 0.92f, 0.25f);
    case Figure::half_disc: return std::max(length(x, y - 0.4f) - 0.9f, y - 0.4f);
    case Figure::crescent: return std::max(length(x, y) - 0.9f, 0.72f - length(x - 0.45f, y));
  }
  return 1.0f;
}

}  // namespace convoy::shapes
