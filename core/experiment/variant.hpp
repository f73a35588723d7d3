// The variant of a model in one line, as it is stamped into every result.
// Not an experiment: what the line leaves out is as the model was made for.
#pragma once

#include "experiment/experiment.hpp"

#include <string>

namespace convoy::experiment {

/// "depth=50 version=v1.5", defaults included.
std::string options_text(const OptionList& options);

/// The same, with image=... and classes=... behind it where the experiment says them.
std::string variant_text(const ModelChoice& model);

}  // namespace convoy::experiment
