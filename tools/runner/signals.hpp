// Ctrl-C and requests to stop: a flag that the loop looks at between steps.
#pragma once

#include <atomic>

namespace convoy::runner {

/// Installs handlers for SIGINT, SIGTERM and SIGUSR1 and returns the flag they set. A second SIGINT ends the program at
/// once, as if there were no handler.
const std::atomic<bool>& stop_on_signals();

}  // namespace convoy::runner
