// Thrown inside the plugin for a picture that cannot be used. The policy (skip or stop) decides what comes of it.
// Not for a folder, a list or an option that is wrong: those are sdk::Error.
#pragma once

#include <stdexcept>
#include <string>

namespace convoy::image_folder {

/// what() is the reason alone: "cut short: ..."; the file is known to whoever catches it.
struct BadPicture : std::runtime_error {
  explicit BadPicture(const std::string& reason) : std::runtime_error(reason) {}
};

}  // namespace convoy::image_folder
