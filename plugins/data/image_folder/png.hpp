// PNG files into red, green, blue, by libspng: gray, colour, palette, alpha, 1 to 16 bits, interlaced.
#pragma once

#include "picture.hpp"

#include <vector>

namespace convoy::image_folder {

/// The upright picture (eXIf applied). Alpha is dropped, not blended; of 16 bits the upper 8 stay; no gamma.
/// Errors: BadPicture, for files that are broken, cut short, whose checksums are wrong, or beyond `limits`.
Picture decode_png(const std::vector<unsigned char>& file, const Limits& limits);

}  // namespace convoy::image_folder
