// What the pooling operators share: attributes as a oneDNN window, and a choice of layout.
#pragma once

#include "lowering.hpp"

namespace convoy::cpu {

struct PoolShape {
  PoolShape(const GraphIndex& g, uint32_t n, Value x, Value y)
      : attrs(g.attrs<PoolAttrs>(n)), x(g.dims(x)), y(g.dims(y)) {
    window.size = {attrs.window[0], attrs.window[1]};
    window.stride = {attrs.stride[0], attrs.stride[1]};
    window.pad_lo = {attrs.pad_lo[0], attrs.pad_lo[1]};
    // oneDNN has no ceil mode: its high padding is what the last window hangs over.
    for (std::size_t i = 0; i < 2; ++i) {
      const int64_t reach = (this->y[2 + i] - 1) * attrs.stride[i] + attrs.window[i];
      window.pad_hi.push_back(std::max<int64_t>(attrs.pad_hi[i], reach - this->x[2 + i] - attrs.pad_lo[i]));
      hangs_over = hangs_over || window.pad_hi[i] > attrs.pad_hi[i];
    }
  }

  PoolAttrs attrs;
  Dims x, y;
  Window window;
  bool hangs_over = false;  // the last window reaches beyond the padded input
};

/// The choice for `first`, else for another layout that oneDNN has code for. `choose` gets the layouts of x and y.
template <class Choose>
Primitive choose_pool(const PoolShape& s, Layout first, const Choose& choose) {
  Primitive best;
  for (Layout l : {first, Layout::channels_last, Layout::blocked16, Layout::blocked8, Layout::plain})
    if (best.quality() == 0 && l != Layout::other) best = choose(image(s.x, l), image(s.y, l));
  return best;
}

}  // namespace convoy::cpu
