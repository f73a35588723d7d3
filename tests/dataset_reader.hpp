// What tests of data plugins share: open, read, and the checks that every dataset must pass.
#pragma once

#include <convoy/sdk/dataset.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "recording_host.hpp"

namespace convoy::testing {

struct Pictures {
  std::vector<unsigned char> bytes;
  std::vector<int32_t> labels;

  bool operator==(const Pictures& o) const { return bytes == o.bytes && labels == o.labels; }
};

inline ModelSpec spec(uint32_t channels = 0, uint32_t height = 0, uint32_t width = 0, uint32_t classes = 0) {
  auto s = sdk::sized<ModelSpec>();
  s.channels = channels;
  s.height = height;
  s.width = width;
  s.classes = classes;
  return s;
}

inline std::vector<uint64_t> upto(uint64_t n) {
  std::vector<uint64_t> out(n);
  for (uint64_t i = 0; i < n; ++i) out[i] = i;
  return out;
}

/// One dataset, seen over the border.
class DatasetReader {
 public:
  DatasetReader(RecordingHost& host, IDataset& dataset)
      : DatasetReader([&host] { return host.take(); }, dataset) {}
  /// `take_message`: what the plugin has left at its host, emptied.
  DatasetReader(std::function<std::string()> take_message, IDataset& dataset)
      : take_message_(std::move(take_message)), dataset_(dataset) {}

  Code open(const ModelSpec& wanted = spec(), const ModelSpec& made_for = spec()) {
    info = sdk::sized<DatasetInfo>();
    return dataset_.open(wanted, made_for, &info);
  }
  /// Opens, and gives the refusal's message ("" where there is none); `expected` is the code it must have.
  std::string refusal(Code expected, const ModelSpec& wanted = spec()) {
    const Code c = open(wanted);
    CHECK(c == expected);
    return take_message_();
  }

  Code try_read(Pictures& out, Split split, const std::vector<uint64_t>& samples, uint64_t seed = 1,
                uint64_t epoch = 0, bool augment = false) {
    auto r = sdk::sized<BatchRequest>();
    r.split = split;
    r.augment = augment ? 1 : 0;
    r.seed = seed;
    r.epoch = epoch;
    r.samples = sdk::span(samples);
    out.bytes.assign(samples.size() * sdk::image_bytes(info), 0xee);
    out.labels.assign(samples.size(), -77);
    auto slot = sdk::sized<BatchSlot>();
    slot.images = {out.bytes.data(), out.bytes.size(), 0, 0, Mem::host};
    slot.labels = {out.labels.data(), out.labels.size() * sizeof(int32_t), 0, 0, Mem::host};
    const Code c = dataset_.read(r, &slot);
    if (c == Code::ok) CHECK(slot.filled == samples.size());
    return c;
  }
  Pictures read(Split split, const std::vector<uint64_t>& samples, uint64_t seed = 1, uint64_t epoch = 0,
                bool augment = false) {
    Pictures out;
    REQUIRE(try_read(out, split, samples, seed, epoch, augment) == Code::ok);
    return out;
  }
  std::string name(Split split, uint64_t sample, std::size_t room = 256) {
    std::string out(room, '?');
    REQUIRE(dataset_.sample_name(split, sample, out.data(), room) == Code::ok);
    return out.c_str();
  }
  uint64_t count(Split s) const { return s == Split::train ? info.train : info.eval; }

  std::string message() { return take_message_(); }
  IDataset& dataset() { return dataset_; }

  DatasetInfo info{};

 private:
  std::function<std::string()> take_message_;
  IDataset& dataset_;
};

/// Four threads read `samples` backwards, in pieces of different sizes; each must find what `expected` has.
inline bool same_from_threads(DatasetReader& data, Split split, const Pictures& expected, bool augment) {
  const uint64_t n = expected.labels.size(), image = sdk::image_bytes(data.info);
  std::vector<char> same(4, 1);  // not vector<bool>: threads write neighbours
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < same.size(); ++t)
    threads.emplace_back([&, t] {
      for (uint64_t end = n; end > 0;) {
        const uint64_t begin = end - std::min<uint64_t>(end, 3 + t);
        std::vector<uint64_t> samples;
        for (uint64_t i = end; i-- > begin;) samples.push_back(i);
        Pictures got;
        if (data.try_read(got, split, samples, 1, 0, augment) != Code::ok) same[t] = 0;
        for (std::size_t k = 0; k < samples.size(); ++k)
          if (got.labels[k] != expected.labels[samples[k]] ||
              std::memcmp(got.bytes.data() + k * image, expected.bytes.data() + samples[k] * image, image) != 0)
            same[t] = 0;
        end = begin;
      }
    });
  for (std::thread& t : threads) t.join();
  return std::all_of(same.begin(), same.end(), [](char s) { return s != 0; });
}

/// An open dataset: every sample can be read, labels are in range, names differ, bytes depend on nothing but the
/// sample, and nonsense is refused with a message.
inline void check_dataset_contract(DatasetReader& data, Split split, uint64_t at_most = 500) {
  const uint64_t n = std::min(data.count(split), at_most);
  REQUIRE(n > 0);
  for (const bool augment : {false, true}) {
    const Pictures all = data.read(split, upto(n), 1, 0, augment);
    for (int32_t label : all.labels) REQUIRE((label >= 0 && label < static_cast<int32_t>(data.info.classes)));
    CHECK(same_from_threads(data, split, all, augment));
    CHECK(data.read(split, {n - 1}, 1, 0, augment).labels[0] == all.labels[n - 1]);
  }

  std::vector<std::string> names;
  for (uint64_t i = 0; i < n; ++i) names.push_back(data.name(split, i));
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
  CHECK(data.name(split, 0, 4).size() == 3);  // cut, and terminated

  Pictures ignored;
  CHECK(data.try_read(ignored, split, {data.count(split)}) == Code::invalid);
  CHECK(data.message().find("asked for") != std::string::npos);
  auto r = sdk::sized<BatchRequest>();
  r.split = split;
  const uint64_t first = 0;
  r.samples = {&first, 1};
  auto slot = sdk::sized<BatchSlot>();  // no memory at all
  CHECK(data.dataset().read(r, &slot) == Code::invalid);
  CHECK(data.message().find("too small") != std::string::npos);
}

}  // namespace convoy::testing
