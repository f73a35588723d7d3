// grads_ready and params_needed: no work; the executable calls the core's hooks there.
#include "lowering.hpp"

#include <span>

namespace convoy::cuda {

namespace {

void mark(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  if (g.node(group.leader).op == Op::grads_ready) l.unscale_gradients();
  l.marker({g.node(group.leader).op, g.attrs<MarkerAttrs>(group.leader).bucket});
}

const OpLowering kLowerings[] = {{Op::grads_ready, mark}, {Op::params_needed, mark}};

}  // namespace

std::span<const OpLowering> marker_lowerings() { return kLowerings; }

}  // namespace convoy::cuda
