// Which pictures turned out to be unusable, and how many of them are too many. Reports each once.
// Does not choose what is seen in their place.
#pragma once

#include <convoy/abi.hpp>

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>

namespace convoy::image_folder {

struct Bounds {
  double share = 0;        // of a split's pictures, rounded down
  uint64_t in_a_row = 0;   // neighbours in the split's order: a disk that went away, a class that was never unpacked
};

/// Threads: any.
class BadSamples {
 public:
  BadSamples(const Bounds& bounds, uint64_t train, uint64_t eval);

  bool known(Split split, uint64_t index) const;
  /// Counts a picture, and reports it where it is new. Errors: sdk::Error io beyond the bounds, with file and reason.
  void add(Split split, uint64_t index, const std::string& file, const std::string& reason);

 private:
  uint64_t total(Split s) const { return s == Split::train ? train_ : eval_; }
  void check(Split split, uint64_t index, const std::string& file, const std::string& reason) const;

  Bounds bounds_;
  uint64_t train_, eval_;
  mutable std::mutex mutex_;
  std::map<Split, std::set<uint64_t>> found_;
};

}  // namespace convoy::image_folder
