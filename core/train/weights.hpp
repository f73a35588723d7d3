// Weights of a run: into and out of safetensors files, under the model's own names.
// Parameters, frozen values and running statistics; optimiser state is not a weight.
#pragma once

#include "exec/program.hpp"

#include <map>
#include <string>
#include <vector>

namespace convoy::train {

/// Loads every param, frozen value and model state of `program` from the file, and refreshes the program.
/// Errors: data, naming the file and the first names that are missing, left over or of another shape.
/// `num_batches_tracked` entries of other tools are ignored. Threads: the replica's.
void load_weights(const std::string& path, exec::Program& program, Stream s);

/// Writes them all, under a temporary name and then renamed. Errors: storage.
void save_weights(const std::string& path, const exec::Program& program, Stream s,
                  const std::map<std::string, std::string>& metadata);

/// The values that a weights file holds, in the model's order: not optimiser state, not updated aliases.
std::vector<Value> weight_values(const GraphView& view);

}  // namespace convoy::train
