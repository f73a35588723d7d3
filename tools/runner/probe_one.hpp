// The child's side of probing: loads one plugin file and says what it found. May crash or hang with the plugin; the
// parent (probe_child) then says where.
#pragma once

#include <string>

namespace convoy::runner {

class Environment;

/// Writes to standard output, a line each: the stage it is about to enter, and in the end one JSON object:
///   {"provides": [{"kind", "name", "score", "reason", "devices", "schema", "found": [device, ...]}]}
///   device: {"name", "memory_bytes", "free_bytes", "types", "memory", "async", "facets"}, or {"error"}
/// or {"error": "refused P301: ..."}. Returns the exit code.
int probe_one(Environment& environment, const std::string& file);

/// For an author's build: loads the file and checks its schemas; a line for each thing that it provides.
/// Errors: whatever refuses it.
int check_plugin(Environment& environment, const std::string& file);

}  // namespace convoy::runner
