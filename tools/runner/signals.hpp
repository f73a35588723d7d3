// Ctrl-C and requests to stop: a flag that the loop looks at between steps.
#pragma once

#include <atomic>

namespace convoy::runner {

/// Installs handlers for SIGINT, SIGTERM, SIGUSR1 and, where whoever started the program does not ignore it, SIGHUP, and
/// returns the flag they set. A second SIGINT ends the program at once, as if there were no handler. SIGPIPE is ignored:
/// training does not end because nobody reads its progress any more.
const std::atomic<bool>& stop_on_signals();

}  // namespace convoy::runner
