// The data plugin `idx`: grey pictures in idx files, the format of MNIST, Fashion-MNIST, KMNIST and EMNIST.
// All pictures are held in memory. No augmentation.
#pragma once

#include <convoy/sdk/dataset.hpp>

#include <string>
#include <vector>

namespace convoy::idx {

/// Pictures and labels of one split; empty where it does not exist.
struct LabelledPictures {
  std::string file;                    // of the pictures, without its folder
  uint32_t height = 0;
  uint32_t width = 0;
  std::vector<unsigned char> pixels;   // (samples, height, width)
  std::vector<unsigned char> labels;

  uint64_t count() const { return labels.size(); }
};

class Idx final : public sdk::Dataset {
 public:
  static constexpr const char* schema =
      "path : string = \"\" # folder with train-images-idx3-ubyte, train-labels-idx1-ubyte and t10k-...; each "
      "plain or .gz; or one file of pictures, for training, with its labels beside it\n"
      "train_images : string = \"\" # a file of its own, instead of the one in path\n"
      "train_labels : string = \"\"\n"
      "eval_images : string = \"\"\n"
      "eval_labels : string = \"\"\n";

  /// Opens nothing yet.
  explicit Idx(const Options& o);

  DatasetInfo prepare(const ModelSpec& wanted, const ModelSpec& made_for) override;
  int32_t load(const sdk::Sample& s, void* image) const override;
  std::string describe(Split split, uint64_t index) const override;

 private:
  void locate();           // fills in the files that the options leave open
  void locate_beside();    // ... from the one file that path names
  void require_same_size() const;
  const LabelledPictures& of(Split split) const { return split == Split::train ? train_ : eval_; }

  std::string path_;
  std::string train_images_, train_labels_;
  std::string eval_images_, eval_labels_;
  LabelledPictures train_, eval_;
};

}  // namespace convoy::idx
