// Whether this machine has a GPU that the backend can use, and if not, the reason as the user reads it.
#pragma once

#include <convoy/sdk/plugin.hpp>

namespace convoy::cuda {

/// Without side effects beyond opening libraries; makes no context on a device.
void probe(ProbeResult& r);

}  // namespace convoy::cuda
