#include "train/batch_feed.hpp"

#include "error.hpp"
#include "ir/graph.hpp"

#include <convoy/sdk/plugin.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <system_error>

namespace convoy::train {

namespace {

constexpr uint64_t kSlotsBeyondReaders = 2;  // one on its way to the device, one ready behind it

/// `bytes` of `b` from `offset` on, as a buffer of its own.
Buffer part(const Buffer& b, uint64_t offset, uint64_t bytes) {
  Buffer out = b;
  out.ptr = static_cast<char*>(b.ptr) + offset;
  out.bytes = bytes;
  return out;
}

}  // namespace

BatchFeed::BatchFeed(const exec::Device& device, const OpenDataset& data, PickSamples pick, const FeedOptions& options)
    : data_(data),
      pick_(std::move(pick)),
      options_(options),
      next_read_(options.first_step),
      next_take_(options.first_step),
      given_back_(options.first_step) {
  const DatasetInfo& i = data.info;
  image_bytes_ = uint64_t{i.channels} * i.height * i.width * ir::size_of(i.dtype);
  const uint64_t steps = options.end_step - options.first_step;
  const uint64_t n_slots = std::max<uint64_t>(1, std::min(steps, options.readers + kSlotsBeyondReaders));
  for (uint64_t s = 0; s < n_slots; ++s) {
    Slot slot;
    slot.images = exec::DeviceBuffer(device, image_bytes_ * options.batch, device.staging_memory(), "a batch of images");
    slot.labels = exec::DeviceBuffer(device, sizeof(int32_t) * options.batch, device.staging_memory(), "labels");
    slots_.push_back(std::move(slot));
  }
  try {
    for (uint32_t r = 0; r < std::max(1u, options.readers); ++r) readers_.emplace_back([this] { read_steps(); });
  } catch (const std::system_error& e) {
    stop();
    throw Error(ErrorKind::plugin, fmt::format("{} reader threads could not be started: {}", options.readers, e.what())).note("fix", "a smaller data.workers");
  }
}

BatchFeed::~BatchFeed() { stop(); }

void BatchFeed::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (auto& t : readers_) t.join();
}

void BatchFeed::read_steps() {
  Picked picked;
  try {
    for (;;) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] {
        return stopping_ || next_read_ >= options_.end_step || next_read_ < given_back_ + slots_.size();
      });
      if (stopping_ || next_read_ >= options_.end_step) return;
      const uint64_t step = next_read_++;
      lock.unlock();
      fill(slot_of(step), step, picked);
      lock.lock();
      slot_of(step).ready = true;
      lock.unlock();
      changed_.notify_all();
    }
  } catch (...) {
    std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    stopping_ = true;
    changed_.notify_all();
  }
}

void BatchFeed::fill(Slot& slot, uint64_t step, Picked& picked) {
  auto& samples = picked.samples;
  samples.resize(options_.batch);
  {
    std::lock_guard lock(pick_mutex_);  // the sampler keeps one permutation
    pick_(step, samples);
  }
  for (uint64_t at = 0; at < samples.size();) {
    uint64_t end = at + 1;  // a batch may straddle epochs; one request has one epoch
    while (end < samples.size() && samples[end].epoch == samples[at].epoch) ++end;
    read_run(slot, at, samples.data() + at, end - at, picked.indices);
    at = end;
  }
  slot.batch = {slot.images.get(), slot.labels.get(), step, samples.size()};
  auto* labels = static_cast<int32_t*>(slot.labels.ptr());
  std::fill(labels + samples.size(), labels + options_.batch, -1);
  std::memset(static_cast<char*>(slot.images.ptr()) + samples.size() * image_bytes_, 0,
              (options_.batch - samples.size()) * image_bytes_);
}

void BatchFeed::read_run(Slot& slot, uint64_t at, const SampleRef* first, uint64_t n, std::vector<uint64_t>& indices) {
  indices.clear();
  for (uint64_t i = 0; i < n; ++i) indices.push_back(first[i].sample);
  auto request = sdk::sized<BatchRequest>();
  request.split = options_.split;
  request.augment = options_.augment ? 1 : 0;
  request.seed = options_.seed;
  request.epoch = first->epoch;
  request.samples = sdk::span<uint64_t>(indices);
  auto target = sdk::sized<BatchSlot>();
  target.images = part(slot.images.get(), at * image_bytes_, n * image_bytes_);
  target.labels = part(slot.labels.get(), at * sizeof(int32_t), n * sizeof(int32_t));
  data_.host->check(data_.dataset->read(request, &target), data_.name, "read samples");
  if (target.filled != n)
    throw Error(ErrorKind::plugin,
                fmt::format("dataset '{}' filled {} of {} samples and gave no reason", data_.name, target.filled, n));
  check_labels(static_cast<const int32_t*>(target.labels.ptr), first, n);
}

/// Backends index with labels: none outside the classes gets to them.
void BatchFeed::check_labels(const int32_t* labels, const SampleRef* first, uint64_t n) const {
  for (uint64_t i = 0; i < n; ++i)
    if (labels[i] < -1 || (labels[i] >= 0 && static_cast<uint32_t>(labels[i]) >= data_.info.classes))
      throw Error(ErrorKind::data, fmt::format("dataset '{}': {} sample {} has the label {}, but there are {} classes", data_.name,
                                               options_.split == Split::train ? "training" : "held-out", first[i].sample, labels[i], data_.info.classes));
}

const Batch& BatchFeed::take() {
  std::unique_lock lock(mutex_);
  Slot& slot = slot_of(next_take_);
  changed_.wait(lock, [&] { return slot.ready || failure_; });
  if (!slot.ready) std::rethrow_exception(failure_);
  slot.ready = false;
  ++next_take_;
  return slot.batch;
}

void BatchFeed::give_back(uint64_t step) {
  {
    std::lock_guard lock(mutex_);
    given_back_ = std::max(given_back_, step + 1);
  }
  changed_.notify_all();
}

}  // namespace convoy::train
