// Antialiased bilinear resizing, byte for byte what Pillow's Image.resize(BILINEAR) gives (and with it torchvision's
// Resize on such pictures): fixed point, rows first. Not OpenCV's: that one does not antialias.
#pragma once

#include "picture.hpp"

#include <cstdint>

namespace convoy::image_folder {

/// Pixels, inside a picture.
struct Box {
  uint32_t x, y, width, height;
};

/// A window of `part` resized to width x height: `window` is in pixels of the resized picture.
struct Resize {
  Box part;
  uint32_t width, height;
  Box window;
};

/// Writes the window as planes, (3, window.height, window.width), mirrored left to right if asked.
/// Needs: part inside `from`, window inside width x height, none of them empty.
void resize(const Picture& from, const Resize& how, bool mirrored, unsigned char* planes);

}  // namespace convoy::image_folder
