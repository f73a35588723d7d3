#include "train/predictions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace convoy::train {

namespace {

constexpr std::size_t kLongestName = 4096;  // a path

std::string header(uint32_t classes) {
  std::string out = "index,name,label,top1";
  for (uint32_t c = 0; c < classes; ++c) out += fmt::format(",logit{}", c);
  return out;
}

}  // namespace

Predictions::Predictions(const std::filesystem::path& path, const OpenDataset& data, uint32_t classes)
    : path_(path), csv_(path, header(classes)), data_(data) {}

void Predictions::add(uint64_t sample, int32_t label, std::span<const float> logits) {
  std::string name(kLongestName, '\0');
  data_.host->check(data_.dataset->sample_name(Split::eval, sample, name.data(), name.size()), data_.name, "name a sample");
  name.resize(name.find('\0'));
  const auto top = std::max_element(logits.begin(), logits.end()) - logits.begin();
  std::vector<std::string> row{std::to_string(sample), name, std::to_string(label), std::to_string(top)};
  for (float x : logits) row.push_back(fmt::format("{}", x));
  csv_.append(row);
}

void Predictions::finish() { csv_.sync(); }

void Predictions::discard() {
  std::error_code ec;
  std::filesystem::remove(path_, ec);
}

}  // namespace convoy::train
