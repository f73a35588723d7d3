// How a camera was held: the orientation in Exif data, and the turn that sets a picture upright.
// No other Exif field is read.
#pragma once

#include "picture.hpp"

#include <cstddef>

namespace convoy::image_folder {

/// The orientation, 1..8, of a TIFF block (what follows "Exif\0\0" in a JPEG file, or lies in PNG's eXIf).
/// Anything that is broken, missing or out of range is 1: upright. Never reads outside [data, data + size).
int exif_orientation(const unsigned char* data, std::size_t size);

/// The picture as it is meant to be seen. 1: as it is; 2..8 as in the Exif standard, so 6 is turned clockwise by 90°.
Picture upright(Picture stored, int orientation);

}  // namespace convoy::image_folder
