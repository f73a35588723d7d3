// The libraries that a plugin asks the system's loader for, looked up before it is loaded.
// Best effort, and never the last word: what is not found here would most likely not be found there either, but what is
// found may still fail to load. Versions and symbols are the loader's affair.
#pragma once

#include "plugin/elf_file.hpp"

#include <filesystem>
#include <string>

namespace convoy::plugin {

/// Where the loader would take `soname` from for a library with these facts that lies at `file`: what is mapped already,
/// its run path ($ORIGIN included), LD_LIBRARY_PATH (only looked at because the loader will), the loader's cache, the
/// system's folders. Empty where nowhere.
std::string resolve_needed(const std::string& soname, const ElfFacts& of, const std::filesystem::path& file);

/// The OpenMP runtime that such a library brings, itself or through what it needs: "libgomp.so.1"; empty where none.
std::string openmp_runtime(const ElfFacts& of, const std::filesystem::path& file);

}  // namespace convoy::plugin
