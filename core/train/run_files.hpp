// manifest.json of a run: who computed what with which plugins.
#pragma once

#include "train/experiment_run.hpp"

#include <cstdint>
#include <string>

namespace convoy::train {

/// After the plugins were loaded. `resolved`: the text of resolved.toml. Errors: storage.
void write_run_manifest(const RunContext& context, const experiment::Experiment& e, const std::string& resolved, uint32_t threads);

}  // namespace convoy::train
