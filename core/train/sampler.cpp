#include "train/sampler.hpp"

#include "error.hpp"

#include <convoy/sdk/philox.hpp>

#include <fmt/format.h>

#include <limits>
#include <numeric>
#include <utility>

namespace convoy::train {

Sampler::Sampler(uint64_t samples, uint64_t batch_per_rank, uint32_t world, uint64_t seed, bool shuffle,
                 Remainder remainder)
    : samples_(samples), batch_(batch_per_rank), world_(world), seed_(seed), shuffle_(shuffle), remainder_(remainder) {
  if (samples == 0) throw Error(ErrorKind::data, "there are no samples to train on");
  if (samples > std::numeric_limits<uint32_t>::max())
    throw Error(ErrorKind::usage, fmt::format("{} samples are more than can be shuffled, {}", samples, std::numeric_limits<uint32_t>::max())).note("fix", "a smaller data.train_limit");
  if (remainder == Remainder::drop && samples < global_batch())
    throw Error(ErrorKind::usage, fmt::format("data.remainder = \"drop\" would drop all {} samples: the global batch is {}",
                                              samples, global_batch()))
        .note("fix", "a smaller data.batch, or data.remainder = \"roll_over\"");
}

uint64_t Sampler::used_per_epoch() const {
  return remainder_ == Remainder::drop ? samples_ / global_batch() * global_batch() : samples_;
}

uint64_t Sampler::used_in(uint64_t epochs) const {
  uint64_t all = 0;
  if (__builtin_mul_overflow(used_per_epoch(), epochs, &all))
    throw Error(ErrorKind::usage, fmt::format("{} epochs of {} samples are more than a counter holds", epochs, used_per_epoch())).note("fix", "fewer epochs");
  return all;
}

uint64_t Sampler::steps_for(uint64_t epochs) const { return used_in(epochs) / global_batch(); }

uint64_t Sampler::left_over(uint64_t epochs) const { return used_in(epochs) % global_batch(); }

uint64_t Sampler::dropped_per_epoch() const { return samples_ - used_per_epoch(); }

double Sampler::steps_per_epoch() const {
  return static_cast<double>(used_per_epoch()) / static_cast<double>(global_batch());
}

void Sampler::load_epoch(uint64_t epoch) {
  if (epoch == loaded_epoch_) return;
  order_.resize(samples_);
  std::iota(order_.begin(), order_.end(), uint64_t{0});
  if (shuffle_) {
    sdk::Random random(seed_, sdk::RandomUse::shuffle, static_cast<uint32_t>(epoch), 0);
    for (uint64_t i = samples_ - 1; i > 0; --i)  // Fisher and Yates
      std::swap(order_[i], order_[random.below(static_cast<uint32_t>(i + 1))]);
  }
  loaded_epoch_ = epoch;
}

void Sampler::batch(uint64_t step, uint32_t rank, std::span<SampleRef> out) {
  const uint64_t first = step * global_batch() + rank * batch_;
  for (uint64_t i = 0; i < out.size(); ++i) {
    const uint64_t at = first + i;
    load_epoch(at / used_per_epoch());
    out[i] = {loaded_epoch_, order_[at % used_per_epoch()]};
  }
}

}  // namespace convoy::train
