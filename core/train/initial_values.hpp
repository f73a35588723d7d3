// How parameters begin: the init strings of IGraphBuilder::param, computed from counter-based random numbers.
// A value depends on the seed, the parameter's name and its index only, never on order, device or world size.
#pragma once

#include "ir/graph.hpp"

#include <cstdint>
#include <vector>

namespace convoy::train {

/// Values in logical layout. `t.init` was checked when the graph was built. Threads: any.
std::vector<float> initial_values(const ir::Tensor& t, uint64_t seed);

}  // namespace convoy::train
