// `runner plugins`: what there is, why something may not be used, and what it can do here.
#pragma once

#include <string>
#include <vector>

namespace convoy::runner {

/// Arguments behind the command's name. Returns the exit code; throws convoy::Error.
int plugins_command(const std::vector<std::string>& args);

}  // namespace convoy::runner
