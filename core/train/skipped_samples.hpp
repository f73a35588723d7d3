// skipped.ndjson of a run: the samples that its dataset could not read and left out.
// Not the policy: how many may be left out, and what is seen in their place, is the dataset's.
#pragma once

#include "plugin/host.hpp"
#include "record/log.hpp"
#include "record/ndjson.hpp"

#include <convoy/abi/skipped_samples.hpp>

#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>

namespace convoy::train {

/// Offered to plugins as long as it lives, so it must outlive the dataset. The file is made with the first sample.
class SkippedSamples final : public ISkippedSamples {
 public:
  SkippedSamples(plugin::Host& host, record::LogSink& log, std::filesystem::path file);
  ~SkippedSamples();
  SkippedSamples(const SkippedSamples&) = delete;
  SkippedSamples& operator=(const SkippedSamples&) = delete;

  /// Samples so far. Threads: any.
  uint64_t count() const;

  void* query(const char* id) noexcept override;
  void destroy() noexcept override {}
  void add(Split split, uint64_t sample, Str file, Str reason) noexcept override;

 private:
  plugin::Host& host_;
  record::LogSink& log_;
  std::filesystem::path file_;
  mutable std::mutex mutex_;
  std::optional<record::NdjsonWriter> writer_;
  uint64_t count_ = 0;
};

}  // namespace convoy::train
