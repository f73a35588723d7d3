// `runner describe MODEL`: what a network consists of, and what it costs on paper.
#pragma once

#include <string>
#include <vector>

namespace convoy::runner {

/// `args`: behind the word "describe". Errors: usage; those of the model.
int describe_command(const std::vector<std::string>& args);

}  // namespace convoy::runner
