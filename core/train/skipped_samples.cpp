#include "train/skipped_samples.hpp"

#include <convoy/sdk/plugin.hpp>

#include <cstring>
#include <exception>
#include <utility>

namespace convoy::train {

SkippedSamples::SkippedSamples(plugin::Host& host, record::LogSink& log, std::filesystem::path file)
    : host_(host), log_(log), file_(std::move(file)) {
  host_.provide(ISkippedSamples::id, static_cast<ISkippedSamples*>(this));
}

SkippedSamples::~SkippedSamples() { host_.provide(ISkippedSamples::id, nullptr); }

uint64_t SkippedSamples::count() const {
  const std::lock_guard lock(mutex_);
  return count_;
}

void* SkippedSamples::query(const char* id) noexcept {
  return std::strcmp(id, ISkippedSamples::id) == 0 ? static_cast<ISkippedSamples*>(this) : nullptr;
}

void SkippedSamples::add(Split split, uint64_t sample, Str file, Str reason) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    ++count_;
    if (!writer_) writer_.emplace(file_);
    record::Record line;
    line.add("split", split == Split::train ? "train" : "eval")
        .add("sample", static_cast<int64_t>(sample))
        .add("file", sdk::text(file))
        .add("reason", sdk::text(reason));
    writer_->append(line);
  } catch (const std::exception& e) {
    log_.warning("run", std::string("a skipped sample is not in skipped.ndjson: ") + e.what());
  }
}

}  // namespace convoy::train
