// The fill rule of the golden files: every value a pure function of the tensor's name and the flat index.
// FNV-1a over the name, splitmix64 over the index, the top 53 bits as a fraction.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace convoy::testing {

inline uint64_t fnv1a(std::string_view name) {
  uint64_t h = 0xcbf29ce484222325u;
  for (unsigned char c : name) h = (h ^ c) * 0x100000001b3u;
  return h;
}

/// The raw 64 bits for element `i` of the tensor whose name hashes to `name`.
inline uint64_t fill_bits(uint64_t name, uint64_t i) {
  uint64_t z = name + i + 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// `n` values in [lo, hi), each computed in double and rounded once.
inline std::vector<float> fill(std::string_view name, uint64_t n, double lo, double hi) {
  std::vector<float> out(n);
  const uint64_t hash = fnv1a(name);
  for (uint64_t i = 0; i < n; ++i) {
    const double u = static_cast<double>(fill_bits(hash, i) >> 11) * 0x1p-53;
    const volatile double scaled = (hi - lo) * u;  // volatile: no fused multiply-add, as the rule says
    out[i] = static_cast<float>(lo + scaled);
  }
  return out;
}

}  // namespace convoy::testing
