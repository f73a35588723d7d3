// 16-bit floats and f32: widening is exact, narrowing rounds to nearest, ties to even.
// Element by element and in software; a device with instructions for it uses those.
#pragma once

#include <cstdint>
#include <cstring>

namespace convoy::sdk {

inline uint32_t bits_of(float v) {
  uint32_t bits;
  std::memcpy(&bits, &v, sizeof bits);
  return bits;
}
inline float float_of(uint32_t bits) {
  float v;
  std::memcpy(&v, &bits, sizeof v);
  return v;
}

/// bf16 is the upper half of an f32.
inline float bf16_to_f32(uint16_t b) { return float_of(uint32_t{b} << 16); }
inline uint16_t f32_to_bf16(float v) {
  const uint32_t bits = bits_of(v);
  if (v != v) return static_cast<uint16_t>(bits >> 16 | 0x40u);  // stays a NaN, made quiet
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/// IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction bits.
inline float f16_to_f32(uint16_t h) {
  const uint32_t sign = uint32_t{h & 0x8000u} << 16;
  const uint32_t exponent = h >> 10 & 0x1fu, fraction = h & 0x3ffu;
  if (exponent == 0) return float_of(bits_of(static_cast<float>(fraction) * 0x1p-24f) | sign);
  return float_of(sign | (exponent == 31 ? 255u : exponent + 112u) << 23 | fraction << 13);
}
inline uint16_t f32_to_f16(float v) {
  const uint32_t bits = bits_of(v);
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);   // NaN
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds past 65504: infinity
  if (magnitude < 0x38800000u) {  // below 2^-14: a multiple of 2^-24, which adding 0.5 leaves in the low bits
    return static_cast<uint16_t>(sign | (bits_of(float_of(magnitude) + 0.5f) - bits_of(0.5f)));
  }
  const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  return static_cast<uint16_t>(sign | ((rounded >> 13) - (112u << 10)));
}

}  // namespace convoy::sdk
