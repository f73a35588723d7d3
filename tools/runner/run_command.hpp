// `runner experiment.toml` and `runner validate experiment.toml`.
#pragma once

#include <string>
#include <vector>

namespace convoy::runner {

/// Arguments behind the command's name. Returns the exit code; throws convoy::Error.
int run_command(const std::vector<std::string>& args, const std::vector<std::string>& argv);
int validate_command(const std::vector<std::string>& args);

}  // namespace convoy::runner
