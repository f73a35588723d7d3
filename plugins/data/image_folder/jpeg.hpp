// JPEG files into red, green, blue, by libjpeg-turbo: gray, YCbCr, RGB, CMYK and YCCK; baseline, progressive, arithmetic.
// The classic interface, not TurboJPEG's: it tells a harmless warning from lost data.
#pragma once

#include "picture.hpp"

#include <vector>

namespace convoy::image_folder {

/// The upright picture (Exif orientation applied). `file` is changed: an end marker is put behind it.
/// Errors: BadPicture, for files that are broken, cut short, beyond `limits`, or of a kind not known.
Picture decode_jpeg(std::vector<unsigned char>& file, const Limits& limits);

}  // namespace convoy::image_folder
