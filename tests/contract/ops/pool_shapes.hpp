// Windows that the pooling tests share.
#pragma once

#include "ir/window.hpp"
#include "one_node.hpp"

#include <fmt/format.h>

namespace convoy::contract {

struct PoolShape {
  int64_t N, C, H, W;
  int32_t R, S, stride_h, stride_w;
  int32_t top = 0, left = 0, bottom = 0, right = 0;
  bool ceil_mode = false;
  bool count_include_pad = true;

  PoolAttrs attrs() const {
    PoolAttrs a{};
    a.window[0] = R, a.window[1] = S;
    a.stride[0] = stride_h, a.stride[1] = stride_w;
    a.pad_lo[0] = top, a.pad_lo[1] = left;
    a.pad_hi[0] = bottom, a.pad_hi[1] = right;
    a.ceil_mode = ceil_mode ? 1 : 0;
    a.count_include_pad = count_include_pad ? 1 : 0;
    a.input_size[0] = static_cast<int32_t>(H), a.input_size[1] = static_cast<int32_t>(W);
    return a;
  }
  Dims x() const { return {N, C, H, W}; }
  Dims y() const {
    return {N, C, ir::output_size({H, R, stride_h, top, bottom, 1, ceil_mode}),
            ir::output_size({W, S, stride_w, left, right, 1, ceil_mode})};
  }
  bool fits() const { return y()[2] > 0 && y()[3] > 0; }
  std::string text() const {
    return fmt::format("x({},{},{},{}) {}x{} s{},{} pad {},{},{},{}{}{}", N, C, H, W, R, S, stride_h, stride_w, top, left,
                       bottom, right, ceil_mode ? " ceil" : "", count_include_pad ? "" : " without padding");
  }
};

inline std::vector<PoolShape> pool_shapes() {
  constexpr std::size_t kRandomShapes = 32;
  std::vector<PoolShape> out = {
      {2, 8, 12, 12, 3, 3, 2, 2, 1, 1, 1, 1},               // ResNet's
      {2, 5, 8, 8, 2, 2, 2, 2},                             // VGG's
      {2, 3, 13, 13, 3, 3, 2, 2},                           // AlexNet's: windows overlap
      {2, 3, 12, 12, 3, 3, 2, 2, 0, 0, 0, 0, true},         // Inception's, ceil
      {1, 17, 7, 7, 3, 3, 1, 1, 1, 1, 1, 1, false, false},  // inside a block, padding not counted
      {1, 4, 8, 8, 1, 1, 2, 2},                             // window 1: subsampling
      {1, 2, 7, 5, 7, 5, 1, 1},                             // the whole plane
      {1, 1, 6, 6, 2, 2, 2, 2, 1, 1, 1, 1, true},           // ceil and padding: a last window is left out
      {1, 1, 5, 5, 2, 2, 3, 3},                             // gaps between windows
  };
  sdk::Random r(11, sdk::RandomUse::synthetic, 0, 0);
  const int64_t channels[] = {1, 3, 5, 17};
  for (std::size_t wanted = out.size() + kRandomShapes; out.size() < wanted;) {
    const auto number = [&](uint32_t from, uint32_t count) { return static_cast<int32_t>(from + r.below(count)); };
    PoolShape s{number(1, 3), channels[r.below(4)], number(3, 9), number(3, 9), number(1, 4), number(1, 4),
                number(1, 3), number(1, 3)};
    s.top = number(0, static_cast<uint32_t>(s.R)), s.bottom = number(0, static_cast<uint32_t>(s.R));
    s.left = number(0, static_cast<uint32_t>(s.S)), s.right = number(0, static_cast<uint32_t>(s.S));
    s.ceil_mode = r.below(2) == 1;
    s.count_include_pad = r.below(2) == 1;
    if (s.fits()) out.push_back(s);
  }
  return out;
}

}  // namespace convoy::contract
