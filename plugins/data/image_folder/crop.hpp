// Which part of a picture a network sees: the middle in evaluation, a random part in training. No pixel is touched.
#pragma once

#include "resize.hpp"

#include <convoy/sdk/philox.hpp>

#include <cstdint>

namespace convoy::image_folder {

/// torchvision's Resize(shorter) and CenterCrop((height, width)). Needs shorter >= height and width.
Resize middle(uint32_t from_width, uint32_t from_height, uint32_t shorter, uint32_t width, uint32_t height);

/// torchvision's RandomResizedCrop: a part with `min_area`..1 of the area and a ratio of 3/4..4/3, resized to
/// width x height; after ten draws that do not fit, the largest middle part whose ratio does.
Resize random_part(uint32_t from_width, uint32_t from_height, double min_area, uint32_t width, uint32_t height,
                   sdk::Random& random);

}  // namespace convoy::image_folder
