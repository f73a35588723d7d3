// Where the lowering takes a strided convolution of an image as one over blocks of pixels (block_image.hpp): only in 16
// bits, where libraries are slow with three channels.
#pragma once

#include "block_image.hpp"
#include "lowering.hpp"

#include <optional>
#include <string>

namespace convoy::cuda {

/// The blocks of convolution node `n` over image `x`; nothing where it is none of that kind.
std::optional<BlockShape> block_shape(const Lowering& l, uint32_t n, Value x);
/// The same where every reader of `x` is a convolution that takes the same blocks, or such a one's weight gradient.
std::optional<BlockShape> common_block_shape(const Lowering& l, Value x);

/// Equal for equal blocks.
std::string key_of(const BlockShape& b);
uint64_t image_bytes(const BlockShape& b);
uint64_t weight_bytes(const BlockShape& b);

}  // namespace convoy::cuda
