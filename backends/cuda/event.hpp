// Streams and events behind the border's handles. A stream's handle is the runtime's own; an event's is a cudaEvent_t.
// Nothing here owns one.
#pragma once

#include <convoy/abi.hpp>

#include <cuda_runtime_api.h>

namespace convoy::cuda {

inline cudaStream_t native(Stream s) { return reinterpret_cast<cudaStream_t>(s.h); }
inline cudaEvent_t native(Event e) { return reinterpret_cast<cudaEvent_t>(e.h); }

}  // namespace convoy::cuda
