// The data plugin `image_folder`: JPEG and PNG files, a folder for each class or a list. Pictures are decoded when they are
// asked for, on the threads of whoever asks.
// Not a reader of archives, and no decoder of its own.
#pragma once

#include "bad_samples.hpp"
#include "cache.hpp"
#include "listing.hpp"

#include <convoy/sdk/dataset.hpp>

#include <memory>
#include <string>

namespace convoy::image_folder {

class ImageFolder final : public sdk::Dataset {
 public:
  static constexpr const char* schema =
      "path : string # folder with train/ and val/ or test/ (a folder for each class), or with train.txt and val.txt or "
      "test.txt (lines \"FILE LABEL\"); classes.txt, if there, names the classes in order\n"
      "train : string = \"\" # folder or list of the training pictures, below path; empty: train/ or train.txt\n"
      "eval : string = \"\" # likewise for evaluation; empty: the first that is there of val/, test/, val.txt, test.txt\n"
      "resize : int = 0 [0..8192] # evaluation: the shorter side before the middle is cut out; 0: 8/7 of the picture's "
      "side, as 256 for 224\n"
      "min_area : float = 0.08 [0.01..1] # training: the smallest part of a picture that is cut out, as a share of it\n"
      "flip : bool = true # training: every other picture is mirrored left to right\n"
      "on_bad : string = \"skip\" [\"skip\"|\"stop\"] # pictures that cannot be read: skipped within the bounds below, or "
      "the end of the run\n"
      "max_bad : float = 0.001 [0..1] # share of a split that may be skipped, rounded down\n"
      "max_bad_in_a_row : int = 20 [0..] # neighbours in the order of names that may be skipped\n"
      "max_pixels : int = 100000000 [1..1000000000] # larger pictures are bad ones\n"
      "cache_mb : int = 256 [0..1000000] # memory for decoded pictures, MB: a small set is decoded once\n";

  explicit ImageFolder(const Options& o);

  DatasetInfo prepare(const ModelSpec& wanted, const ModelSpec& made_for) override;
  /// A training picture that is skipped is replaced by the next one in order, a skipped evaluation picture is black
  /// and has label -1: it does not count.
  int32_t load(const sdk::Sample& s, void* image) const override;
  std::string describe(Split split, uint64_t index) const override;

 private:
  const Entry& entry(Split s, uint64_t i) const { return s == Split::train ? found_.train[i] : found_.eval[i]; }
  std::string file_of(Split s, uint64_t i) const { return path_ + "/" + entry(s, i).file; }
  std::shared_ptr<const Picture> picture(Split s, uint64_t i) const;
  std::shared_ptr<const Picture> usable(Split s, uint64_t i) const;
  void write(const Picture& p, const sdk::Sample& s, unsigned char* image) const;
  void choose_size(const ModelSpec& wanted, const ModelSpec& made_for, DatasetInfo& d) const;

  std::string path_, train_name_, eval_name_;
  uint32_t resize_;
  double min_area_;
  bool flip_;
  Bounds bounds_;
  Limits limits_;
  uint64_t cache_bytes_;
  Listing found_;
  uint32_t shorter_ = 0;
  std::unique_ptr<Cache> cache_;
  std::unique_ptr<BadSamples> bad_;
};

}  // namespace convoy::image_folder
