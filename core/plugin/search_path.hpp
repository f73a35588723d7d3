// Where plugins are looked for: absolute folders that others cannot write to, in a fixed order. Never the working
// directory, the experiment's folder or a loader variable.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace convoy::plugin {

struct SearchPath {
  std::vector<std::filesystem::path> folders;  // absolute, in order
  std::vector<std::string> warnings;           // P103: entries that were ignored
};

/// `asked`: --plugin-dir, made absolute here since the user typed it. `variable`: the value of CONVOY_PLUGIN_PATH or
/// null (also null where the process is set-uid). `program`: the running program; plugins lie in
/// <program's folder>/../lib/convoy/plugins. Folders that do not exist are kept: asked-for ones are an error later.
SearchPath make_search_path(const std::vector<std::string>& asked, const char* variable,
                            const std::filesystem::path& program);

/// Errors: plugin P104, naming file, mode and remedy, where `path` or a folder above it could be changed by others
/// than root and the user. `path` has its links resolved. A folder above may be writable by others where its sticky bit
/// keeps them from replacing what they do not own, as in /tmp. A group that is the owner's alone is no others.
/// Threads: one at a time.
void refuse_if_writable_by_others(const std::filesystem::path& path);

}  // namespace convoy::plugin
