// The data plugin `shapes`: counts, sizes and labels. Classes take turns, so every split is balanced.
#include "shapes.hpp"

#include "picture.hpp"

#include <algorithm>

namespace convoy::shapes {
namespace {

constexpr uint32_t kSize = 32;      // pixels, where nobody says
constexpr uint32_t kSmallest = 12;  // below, figures cannot be told apart
constexpr uint64_t kSeed = 1;
constexpr float kMean = 127.2f;     // of the pictures, over all three channels; measured on the training split
constexpr float kStdev = 72.6f;

}  // namespace

Shapes::Shapes(const Options& o)
    : train_(static_cast<uint64_t>(sdk::get(o, "train", 16384))),
      eval_(static_cast<uint64_t>(sdk::get(o, "eval", 2048))),
      size_(static_cast<uint32_t>(sdk::get(o, "size", 0))),
      classes_(static_cast<uint32_t>(sdk::get(o, "classes", 0))) {}

DatasetInfo Shapes::prepare(const ModelSpec& wanted, const ModelSpec&) {
  auto d = sdk::sized<DatasetInfo>();
  d.channels = 3;
  d.height = size_ != 0 ? size_ : wanted.height != 0 ? wanted.height : kSize;
  d.width = size_ != 0 ? size_ : wanted.width != 0 ? wanted.width : kSize;
  if (classes_ == 0) classes_ = wanted.classes != 0 ? std::min(wanted.classes, kFigures) : kFigures;
  d.classes = classes_;
  d.dtype = DType::u8;
  d.train = train_;
  d.eval = eval_;
  if (d.height < kSmallest || d.width < kSmallest)
    throw sdk::Error(Code::invalid, "pictures of " + sdk::image_text(3, d.height, d.width) + " are too small; from " +
                                        std::to_string(kSmallest) + " pixels on, figures can be told apart");
  for (uint32_t c = 0; c < 3; ++c) {
    d.mean[c] = kMean;
    d.stdev[c] = kStdev;
  }
  return d;
}

int32_t Shapes::label_of(uint64_t index) const { return static_cast<int32_t>(index % classes_); }

int32_t Shapes::load(const sdk::Sample& s, void* image) const {
  sdk::Random random(kSeed, sdk::RandomUse::shapes, static_cast<uint32_t>(s.split), s.index);
  const int32_t label = label_of(s.index);
  const Picture p = draw(static_cast<Figure>(label), info().height, info().width, random);
  render(p, info().height, info().width, random, static_cast<unsigned char*>(image));
  return label;
}

std::string Shapes::describe(Split split, uint64_t index) const {
  return "shapes " + std::string(sdk::name_of(split)) + "#" + std::to_string(index) + " (" +
         name_of(static_cast<Figure>(label_of(index))) + ")";
}

}  // namespace convoy::shapes

CONVOY_PLUGIN(dataset, convoy::shapes::Shapes, "shapes")
