// Datasets: fill batches with exactly the samples that the core asks for.
// Order, shuffling, shards and resume are the core's; a dataset keeps no position.
#pragma once

#include "graph.hpp"

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
#endif

namespace convoy {
inline namespace abi1 {

enum class Split : uint32_t { train = 1, eval = 2 };

/// What open() found. Images are contiguous (samples, channels, height, width), labels i32 (samples).
struct DatasetInfo {
  uint32_t struct_size;
  uint32_t channels;
  uint32_t height;     // pixels
  uint32_t width;
  uint32_t classes;
  DType dtype;         // of images: u8 (0..255) or f32
  uint64_t train;      // counts of samples; 0 = the split does not exist
  uint64_t eval;
  uint32_t any_batch;  // 1: contents do not matter, so one batch may be kept on the device and used again
  uint32_t pad;
  float mean[4];       // per channel on the scale of the stored values, what to subtract
  float stdev[4];      // and then divide by; u8 only, f32 is taken as it is
};

struct BatchRequest {
  uint32_t struct_size;
  Split split;
  uint32_t augment;              // 1: training samples may be cropped, mirrored ...
  uint32_t pad;
  uint64_t seed;
  uint64_t epoch;
  Span<const uint64_t> samples;  // indices below DatasetInfo::train or ::eval
};

/// Host or pinned memory, allocated by the core, large enough for the request.
struct BatchSlot {
  uint32_t struct_size;
  uint32_t filled;  // set by the dataset: samples written
  Buffer images;
  Buffer labels;
};

struct IDataset : IObject {
  static constexpr const char* id = "convoy.dataset.1";

  /// `wanted`: what the experiment demands (zero = nothing); `made_for`: what the model was made for, which
  /// generated data follow where nothing is demanded. Data of a fixed shape report that shape; a demand they
  /// cannot meet is an error. Errors: io with file and reason, invalid. Called once, before read().
  virtual Code open(const ModelSpec& wanted, const ModelSpec& made_for, DatasetInfo* out) noexcept = 0;
  /// Several threads at once. The same (seed, epoch, sample) gives the same bytes, whatever else is asked.
  virtual Code read(const BatchRequest& r, BatchSlot* fill) noexcept = 0;
  /// Where a sample came from, for people: "test_batch.bin#12", "train/kiwi/3.jpg"; terminated, cut to `bytes`.
  virtual Code sample_name(Split split, uint64_t sample, char* out, uint64_t bytes) noexcept = 0;
};

}  // namespace abi1
}  // namespace convoy

#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif
