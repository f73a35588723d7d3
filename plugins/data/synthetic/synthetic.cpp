// The data plugin `synthetic`: four random words at a time, cut into bytes or turned into floats.
#include "synthetic.hpp"

#include <convoy/sdk/philox.hpp>

#include <cmath>
#include <cstring>

namespace convoy::synthetic {
namespace {

constexpr uint64_t kMaxElements = uint64_t{1} << 31;  // of one image: far above any picture, far below overflow
constexpr float kByteMean = 127.5f;     // of uniform 0..255
constexpr float kByteStdev = 73.9003f;  // sqrt((256^2 - 1) / 12)

uint32_t first_set(uint32_t demanded, uint32_t made_for) { return demanded != 0 ? demanded : made_for; }

void fill_bytes(sdk::Random& random, unsigned char* out, uint64_t n) {
  for (uint64_t i = 0; i < n; i += 4) {
    const uint32_t word = random.word();
    std::memcpy(out + i, &word, n - i < 4 ? static_cast<std::size_t>(n - i) : 4);
  }
}

void fill_floats(sdk::Random& random, float* out, uint64_t n) {
  const float edge = std::sqrt(3.0f);  // uniform over +-sqrt(3) has variance 1
  for (uint64_t i = 0; i < n; ++i) out[i] = random.uniform(-edge, edge);
}

}  // namespace

Synthetic::Synthetic(const Options& o)
    : train_(static_cast<uint64_t>(sdk::get(o, "train", 50000))),
      eval_(static_cast<uint64_t>(sdk::get(o, "eval", 10000))),
      dtype_(sdk::get(o, "dtype", "f32")) {
  if (dtype_ != "f32" && dtype_ != "u8")
    throw sdk::Error(Code::invalid, "dtype = \"" + dtype_ + "\": known are \"f32\" and \"u8\"");
}

DatasetInfo Synthetic::prepare(const ModelSpec& wanted, const ModelSpec& made_for) {
  auto d = sdk::sized<DatasetInfo>();
  d.channels = first_set(wanted.channels, made_for.channels);
  d.height = first_set(wanted.height, made_for.height);
  d.width = first_set(wanted.width, made_for.width);
  d.classes = first_set(wanted.classes, made_for.classes);
  d.dtype = dtype_ == "u8" ? DType::u8 : DType::f32;
  d.train = train_;
  d.eval = eval_;
  d.any_batch = 1;
  if (d.channels == 0 || d.height == 0 || d.width == 0 || d.classes == 0)
    throw sdk::Error(Code::invalid, "neither the experiment nor the model says how large pictures are");
  if (uint64_t{d.channels} * d.height > kMaxElements / d.width)
    throw sdk::Error(Code::invalid, "pictures of " + sdk::image_text(d.channels, d.height, d.width) + " are too large");
  if (d.dtype == DType::u8 && d.channels > 4)
    throw sdk::Error(Code::invalid, "dtype = \"u8\" takes at most 4 channels, not " + std::to_string(d.channels));
  for (uint32_t c = 0; c < 4; ++c) {
    d.mean[c] = d.dtype == DType::u8 ? kByteMean : 0.0f;
    d.stdev[c] = d.dtype == DType::u8 ? kByteStdev : 1.0f;
  }
  return d;
}

int32_t Synthetic::load(const sdk::Sample& s, void* image) const {
  sdk::Random random(s.seed, sdk::RandomUse::synthetic, static_cast<uint32_t>(s.split), s.index);
  const auto label = static_cast<int32_t>(random.below(info().classes));
  const uint64_t n = uint64_t{info().channels} * info().height * info().width;
  if (info().dtype == DType::u8)
    fill_bytes(random, static_cast<unsigned char*>(image), n);
  else
    fill_floats(random, static_cast<float*>(image), n);
  return label;
}

std::string Synthetic::describe(Split split, uint64_t index) const {
  return "synthetic " + std::string(sdk::name_of(split)) + "#" + std::to_string(index);
}

}  // namespace convoy::synthetic

CONVOY_PLUGIN(dataset, convoy::synthetic::Synthetic, "synthetic")
