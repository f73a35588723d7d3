// Physical layouts of tensors: which there are, how to tell them apart, and how to walk through one.
// Which layout a node uses is decided where it is lowered.
#pragma once

#include "onednn.hpp"

#include <convoy/abi.hpp>

namespace convoy::cpu {

/// Of rank 4: N, C, H, W with the innermost last. `blocked`: N, C / 16, H, W, 16 (or 8), the last block padded with
/// zeros.
enum class Layout { plain, channels_last, blocked16, blocked8, other };

/// Row-major, as the core sees it. A scalar has one dimension of 1. Types that oneDNN lacks become bytes.
Desc canonical(const TensorDesc& t);
Desc canonical(const Dims& dims);
/// f32, rank 4.
Desc image(const Dims& dims, Layout layout);
Layout layout_of(const Desc& d);
/// "nchw", "nhwc", "nChw16c" ...
const char* name_of(Layout layout);

/// True where both describe the same elements at the same addresses (strides of dimensions of size 1 do not matter).
bool same_memory(const Desc& a, const Desc& b);
/// True where the memory holds every element once, padding of blocks apart, and begins at 0.
bool is_dense(const Desc& d);
/// Of 4-byte elements, padding included.
int64_t padded_elements(const Desc& d);

/// A rank-4 tensor as rows of `lanes` neighbouring channels: element (n, c, h, w) lies at
/// n * sample + (c / lanes) * block + h * row + w * column + c % lanes.
struct ImageWalk {
  int64_t samples, blocks, lanes, height, width;
  int64_t channels;  // without padding
  int64_t sample, block, row, column;  // distances in elements
};
/// Errors: Refused, where the layout is none of Layout's.
ImageWalk walk(const Desc& d);

}  // namespace convoy::cpu
