// Decoded pictures that are kept in memory, as many as fit: what came first stays. Small sets are decoded once.
// Never evicts: in a shuffled epoch, whatever is thrown out is needed as soon as what replaced it.
#pragma once

#include "picture.hpp"

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace convoy::image_folder {

/// Threads: any.
class Cache {
 public:
  Cache(uint64_t bytes, uint64_t pictures) : left_(bytes), kept_(pictures) {}

  std::shared_ptr<const Picture> find(uint64_t i) const {
    const std::lock_guard lock(mutex_);
    return kept_[i];
  }
  void offer(uint64_t i, const std::shared_ptr<const Picture>& p) {
    const std::lock_guard lock(mutex_);
    if (kept_[i] != nullptr || p->rgb.size() > left_) return;
    left_ -= p->rgb.size();
    kept_[i] = p;
  }

 private:
  mutable std::mutex mutex_;
  uint64_t left_;
  std::vector<std::shared_ptr<const Picture>> kept_;
};

}  // namespace convoy::image_folder
