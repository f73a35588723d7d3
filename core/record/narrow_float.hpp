// 16-bit floating point numbers to f32, exactly. Widening only: nothing here rounds.
#pragma once

#include <bit>
#include <cstdint>

namespace convoy::record {

/// bf16 is the upper half of a f32.
constexpr float bf16_to_f32(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

/// IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction bits. NaNs keep their payload.
constexpr float f16_to_f32(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
  const std::uint32_t exponent = bits >> 10 & 0x1fu;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, exact in f32
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t wide_exponent = exponent == 31 ? 255 : exponent + (127 - 15);
  return std::bit_cast<float>(sign | wide_exponent << 23 | fraction << 13);
}

}  // namespace convoy::record
