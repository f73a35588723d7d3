// Philox4x32-10, the counter-based random generator that everything random in Convoy comes from.
// No state: the same key and counter give the same four words on any thread, host or device.
// Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011; constants from there.
#pragma once

#include <array>
#include <cstdint>

namespace convoy::sdk {

using PhiloxWords = std::array<uint32_t, 4>;

inline PhiloxWords philox4x32(PhiloxWords counter, uint64_t key) {
  uint32_t k0 = static_cast<uint32_t>(key);
  uint32_t k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * counter[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return counter;
}

/// What a draw is for: keeps uses with the same seed apart. Values are part of what makes a run repeatable.
enum class RandomUse : uint32_t { init = 1, shuffle = 2, augment = 3, dropout = 4, synthetic = 5, shapes = 6 };

/// A stream of draws for one (seed, use, epoch, sample): words come in order, nothing is shared.
class Random {
 public:
  Random(uint64_t seed, RandomUse use, uint32_t epoch, uint64_t sample)
      : key_(seed ^ (uint64_t{static_cast<uint32_t>(use)} << 56)),
        counter_{0, epoch, static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32)} {}

  uint32_t word() {
    if (next_ == 4) {
      words_ = philox4x32(counter_, key_);
      ++counter_[0];
      next_ = 0;
    }
    return words_[static_cast<std::size_t>(next_++)];
  }
  /// In [0, 1), 24 bits.
  float uniform() { return static_cast<float>(word() >> 8) * 0x1p-24f; }
  /// In [lo, hi).
  float uniform(float lo, float hi) { return lo + (hi - lo) * uniform(); }
  /// In [0, n), n > 0; biased by less than n / 2^32.
  uint32_t below(uint32_t n) { return static_cast<uint32_t>((uint64_t{word()} * n) >> 32); }

 private:
  uint64_t key_;
  PhiloxWords counter_;
  PhiloxWords words_{};
  int next_ = 4;
};

}  // namespace convoy::sdk
