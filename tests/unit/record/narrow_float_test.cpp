// All 65536 values of each 16-bit format, against their definition in arithmetic.
#include "record/narrow_float.hpp"

#include <doctest/doctest.h>

#include <cmath>

using namespace convoy::record;

namespace {

/// Value of sign, exponent and fraction by the formula of IEEE 754.
double defined_value(unsigned bits, int exponent_bits, int fraction_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> fraction_bits) & ((1 << exponent_bits) - 1);
  const double fraction = static_cast<double>(bits & ((1u << fraction_bits) - 1)) / (1 << fraction_bits);
  const double sign = (bits & 0x8000u) != 0 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return fraction == 0 ? sign * INFINITY : NAN;
  return exponent == 0 ? sign * std::ldexp(fraction, 1 - bias) : sign * std::ldexp(1 + fraction, exponent - bias);
}

bool same(float got, double wanted) {
  if (std::isnan(wanted)) return std::isnan(got);
  return got == static_cast<float>(wanted) && std::signbit(got) == std::signbit(wanted);
}

}  // namespace

TEST_SUITE_BEGIN("record");

TEST_CASE("every 16-bit number widens to exactly its value") {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    CAPTURE(bits);
    REQUIRE(same(f16_to_f32(static_cast<std::uint16_t>(bits)), defined_value(bits, 5, 10)));
    REQUIRE(same(bf16_to_f32(static_cast<std::uint16_t>(bits)), defined_value(bits, 8, 7)));
  }
}

TEST_SUITE_END();
