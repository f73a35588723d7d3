// predictions.csv: what the network said of every held-out sample.
#pragma once

#include "record/csv.hpp"
#include "train/batch_feed.hpp"

#include <cstdint>
#include <filesystem>
#include <span>

namespace convoy::train {

/// Columns: index, name, label, top1, logit0 ... Threads: one. Errors: storage.
class Predictions {
 public:
  Predictions(const std::filesystem::path& path, const OpenDataset& data, uint32_t classes);
  void add(uint64_t sample, int32_t label, std::span<const float> logits);
  /// Durable when this returns.
  void finish();
  /// Removes the file: a part of the samples is no result.
  void discard();

 private:
  std::filesystem::path path_;
  record::CsvWriter csv_;
  const OpenDataset& data_;
};

}  // namespace convoy::train
