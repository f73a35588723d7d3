// CIFAR's usual augmentation: a random crop out of the picture with a black border, and a random mirror image.
#pragma once

#include <convoy/sdk/philox.hpp>

namespace convoy::cifar {

/// `from` and `to` are (3, 32, 32) bytes, not the same memory. The border is 4 pixels of value 0 on each side, as
/// torchvision's RandomCrop(32, padding=4) before normalisation; He et al. 2016, section 4.2, and the mirror image
/// with probability one half.
void crop_and_flip(const unsigned char* from, unsigned char* to, sdk::Random& random);

}  // namespace convoy::cifar
