// A file into a picture. What a file is, its first bytes say; its name does not count.
#pragma once

#include "picture.hpp"

#include <string>

namespace convoy::image_folder {

/// Reads and decodes `path`. Errors: BadPicture with the reason, whatever is wrong with the file.
Picture read_picture(const std::string& path, const Limits& limits);

}  // namespace convoy::image_folder
