// Dataset: the base of every data plugin. An author says what there is, and writes one sample at a time.
// Order, shuffling, shards and resume are the core's; so are the threads that call this.
#pragma once

#include <convoy/sdk/plugin.hpp>

#include <cstdint>
#include <cstring>
#include <string>

namespace convoy::sdk {

/// One sample that is asked for. The same one gives the same bytes, on any thread and in any order.
struct Sample {
  Split split;
  uint64_t index;  // below DatasetInfo::train or ::eval
  bool augment;    // may be cropped, mirrored ...: depends on seed and epoch, and nothing else
  uint64_t seed;
  uint64_t epoch;
};

inline const char* name_of(Split s) { return s == Split::train ? "train" : "eval"; }

/// Bytes of one image.
inline uint64_t image_bytes(const DatasetInfo& d) {
  return uint64_t{d.channels} * d.height * d.width * (d.dtype == DType::u8 ? 1 : 4);
}

/// "3 x 32 x 32"
inline std::string image_text(uint32_t channels, uint32_t height, uint32_t width) {
  return std::to_string(channels) + " x " + std::to_string(height) + " x " + std::to_string(width);
}

/// Derive, give it `static constexpr const char* schema` and a constructor from Options, override the three
/// functions, end the file with CONVOY_PLUGIN(dataset, YourClass, "name"). Everything may throw sdk::Error.
class Dataset : public Object<IDataset> {
 public:
  /// Reads or prepares what load() needs and says what there is. In `wanted` zero is "not demanded"; generated
  /// data follow `wanted`, and `made_for` where it is silent; data of a fixed shape ignore both (the base
  /// refuses a demand they do not meet). Called once.
  virtual DatasetInfo prepare(const ModelSpec& wanted, const ModelSpec& made_for) = 0;

  /// Writes one image, (channels, height, width), of image_bytes() at `image`; returns its label.
  /// Threads: several at once.
  virtual int32_t load(const Sample& s, void* image) const = 0;

  /// For people: "test_batch.bin#12". Threads: several at once.
  virtual std::string describe(Split split, uint64_t index) const = 0;

  // ---- the border's side ------------------------------------------------------------------------------------

  Code open(const ModelSpec& wanted, const ModelSpec& made_for, DatasetInfo* out) noexcept final {
    return guard("Dataset::open", [&] {
      DatasetInfo found = prepare(wanted, made_for);
      meet(wanted, found);
      info_ = found;
      const uint32_t room = out->struct_size;  // the caller's, which may be an older and shorter struct
      std::memcpy(out, &found, room < sizeof(found) ? room : sizeof(found));
      out->struct_size = room;
    });
  }

  Code read(const BatchRequest& r, BatchSlot* fill) noexcept final {
    return guard("Dataset::read", [&] {
      check_request(r, *fill);
      auto* image = static_cast<unsigned char*>(fill->images.ptr);
      auto* label = static_cast<int32_t*>(fill->labels.ptr);
      for (uint64_t i = 0; i < r.samples.n; ++i)
        label[i] = load({r.split, r.samples.p[i], r.augment != 0, r.seed, r.epoch}, image + i * image_bytes(info_));
      fill->filled = static_cast<uint32_t>(r.samples.n);
    });
  }

  Code sample_name(Split split, uint64_t sample, char* out, uint64_t bytes) noexcept final {
    return guard("Dataset::sample_name", [&] {
      if (bytes == 0) return;
      const std::string s = describe(split, sample);
      const std::size_t n = s.size() < bytes - 1 ? s.size() : static_cast<std::size_t>(bytes - 1);
      std::memcpy(out, s.data(), n);
      out[n] = '\0';
    });
  }

 protected:
  /// What prepare() returned; for load() and describe().
  const DatasetInfo& info() const { return info_; }

 private:
  /// More classes than the data have are no contradiction: every label is still in range, so the count follows.
  static void meet(const ModelSpec& wanted, DatasetInfo& found) {
    const bool shape = (wanted.channels == 0 || wanted.channels == found.channels) &&
                       (wanted.height == 0 || wanted.height == found.height) &&
                       (wanted.width == 0 || wanted.width == found.width);
    if (!shape)
      throw Error(Code::invalid, "the pictures are " + image_text(found.channels, found.height, found.width) +
                                     " (channels, height, width), but " + demand(wanted) + " is demanded");
    if (wanted.classes != 0 && wanted.classes < found.classes)
      throw Error(Code::invalid, "the data have " + std::to_string(found.classes) + " classes, but " +
                                     std::to_string(wanted.classes) + " are demanded");
    if (wanted.classes != 0) found.classes = wanted.classes;
  }

  static std::string demand(const ModelSpec& w) {
    const auto part = [](uint32_t n) { return n == 0 ? std::string("any") : std::to_string(n); };
    return part(w.channels) + " x " + part(w.height) + " x " + part(w.width);
  }

  void check_request(const BatchRequest& r, const BatchSlot& fill) const {
    if (r.split != Split::train && r.split != Split::eval) throw Error(Code::invalid, "unknown split");
    const uint64_t count = r.split == Split::train ? info_.train : info_.eval;
    for (uint64_t i = 0; i < r.samples.n; ++i)
      if (r.samples.p[i] >= count)
        throw Error(Code::invalid, "sample " + std::to_string(r.samples.p[i]) + " asked for; " + name_of(r.split) +
                                       " has " + std::to_string(count));
    if (fill.images.bytes < r.samples.n * image_bytes(info_) || fill.labels.bytes < r.samples.n * sizeof(int32_t))
      throw Error(Code::invalid, "the batch is too small for " + std::to_string(r.samples.n) + " samples");
  }

  DatasetInfo info_{};
};

}  // namespace convoy::sdk
