// Tests of the figures' outlines: size, area, and what makes each of them itself.
#include "figure.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

using convoy::shapes::distance;
using convoy::shapes::Figure;
using convoy::shapes::kFigures;

namespace {

/// Share of the square of side 2 that lies inside, by counting a fine grid.
double area(Figure f) {
  constexpr int kSteps = 400;
  int inside = 0;
  for (int i = 0; i < kSteps; ++i)
    for (int j = 0; j < kSteps; ++j)
      if (distance(f, -1 + (j + 0.5f) * 2 / kSteps, -1 + (i + 0.5f) * 2 / kSteps) < 0) ++inside;
  return 4.0 * inside / (kSteps * kSteps);
}

}  // namespace

TEST_SUITE("data/shapes") {
  TEST_CASE("every figure lies in the unit circle and has a name of its own") {
    for (uint32_t i = 0; i < kFigures; ++i) {
      const auto f = static_cast<Figure>(i);
      for (int degree = 0; degree < 360; ++degree) {
        const auto a = static_cast<float>(degree * M_PI / 180);
        CHECK(distance(f, std::cos(a), std::sin(a)) > 0);
      }
      for (uint32_t j = 0; j < i; ++j) CHECK(std::string(name_of(f)) != name_of(static_cast<Figure>(j)));
    }
  }

  TEST_CASE("areas are those of plane geometry") {
    constexpr double kGrid = 0.02;  // the outline crosses at most some 3,000 of the 160,000 cells
    CHECK(area(Figure::circle) == doctest::Approx(M_PI * 0.81).epsilon(kGrid));
    CHECK(area(Figure::square) == doctest::Approx(1.36 * 1.36).epsilon(kGrid));
    CHECK(area(Figure::triangle) == doctest::Approx(3 * std::sqrt(3.0) * 0.475 * 0.475).epsilon(kGrid));
    CHECK(area(Figure::ring) == doctest::Approx(M_PI * 4 * 0.73 * 0.19).epsilon(kGrid));
    CHECK(area(Figure::bar) == doctest::Approx(1.84 * 0.5).epsilon(kGrid));
    CHECK(area(Figure::cross) == doctest::Approx(2 * 1.84 * 0.54 - 0.54 * 0.54).epsilon(kGrid));
    CHECK(area(Figure::half_disc) == doctest::Approx(M_PI * 0.81 / 2).epsilon(kGrid));
    CHECK(area(Figure::star) == doctest::Approx(5 * 0.95 * 0.40 * std::sin(M_PI / 5)).epsilon(kGrid));
  }

  TEST_CASE("a star has five points, the first upright, and the triangle stands on a side") {
    for (int k = 0; k < 5; ++k) {
      const double point = k * 2 * M_PI / 5, notch = point + M_PI / 5;
      CHECK(distance(Figure::star, 0.85f * static_cast<float>(std::sin(point)),
                     -0.85f * static_cast<float>(std::cos(point))) < 0);
      CHECK(distance(Figure::star, 0.5f * static_cast<float>(std::sin(notch)),
                     -0.5f * static_cast<float>(std::cos(notch))) > 0);
    }
    CHECK(distance(Figure::triangle, 0, -0.9f) < 0);
    CHECK(distance(Figure::triangle, 0, 0.6f) > 0);
  }
}
