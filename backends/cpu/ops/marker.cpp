// Markers: the places where the executable calls the step's hooks.
#include "lowering.hpp"

namespace convoy::cpu {

namespace {

void mark(Lowering& l, const Group& group) {
  l.marker(l.graph().attrs<MarkerAttrs>(group.leader).bucket, l.graph().node(group.leader).op);
}

const OpLowering kLowerings[] = {{Op::grads_ready, mark}, {Op::params_needed, mark}};

}  // namespace

std::span<const OpLowering> marker_lowerings() { return kLowerings; }

}  // namespace convoy::cpu
