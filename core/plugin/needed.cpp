#include "plugin/needed.hpp"

#include "error.hpp"

#include <link.h>

#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <utility>

namespace convoy::plugin {

namespace {

namespace fs = std::filesystem;

// Where every loader looks last, whatever its cache says.
constexpr const char* kSystemFolders =
    "/lib64:/usr/lib64:/lib:/usr/lib:/lib/x86_64-linux-gnu:/usr/lib/x86_64-linux-gnu:/lib/aarch64-linux-gnu:/usr/lib/aarch64-linux-gnu";
constexpr std::size_t kMostLibraries = 512;  // of one plugin, the indirect ones included

bool is_there(const fs::path& path) {
  std::error_code ec;
  return fs::exists(path, ec);
}

std::string with_origin(std::string text, const fs::path& origin) {
  for (const std::string mark : {"${ORIGIN}", "$ORIGIN"})
    for (auto at = text.find(mark); at != std::string::npos; at = text.find(mark, at + origin.string().size()))
      text.replace(at, mark.size(), origin.string());
  return text;
}

std::string from_folders(const std::string& folders, const std::string& soname, const fs::path& origin) {
  std::istringstream in(folders);
  for (std::string folder; std::getline(in, folder, ':');) {
    const fs::path path = fs::path(with_origin(folder, origin)) / soname;
    if (!folder.empty() && is_there(path)) return path.string();
  }
  return "";
}

/// A library of that name that this process has is taken, wherever it came from.
std::string from_this_process(const std::string& soname) {
  std::pair<std::string, std::string> wanted_found{soname, ""};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* context) {
        auto& [wanted, found] = *static_cast<std::pair<std::string, std::string>*>(context);
        const fs::path path = info->dlpi_name;
        if (path.filename() != wanted) return 0;
        found = path.string();
        return 1;
      },
      &wanted_found);
  return wanted_found.second;
}

/// The cache's text holds every name and path it knows; its binary form changes with the system, its strings do not.
std::string from_loader_cache(const std::string& soname) {
  static const std::string cache = [] {
    std::ifstream in("/etc/ld.so.cache", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  const std::string wanted = "/" + soname + '\0';
  for (auto at = cache.find(wanted); at != std::string::npos; at = cache.find(wanted, at + 1)) {
    const auto start = cache.rfind('\0', at);
    const std::string path = start == std::string::npos ? "" : cache.substr(start + 1, at + wanted.size() - start - 2);
    if (!path.empty() && is_there(path)) return path;  // the cache may be older than the folders
  }
  return "";
}

/// The facts of a library that is no plugin; nothing where they cannot be read.
ElfFacts facts_of(const std::string& path) {
  try {
    return read_elf(PluginFile(path), path);
  } catch (const Error&) {
    return {};
  }
}

bool is_openmp(const std::string& soname) {
  for (const char* runtime : {"libgomp", "libiomp5", "libomp."})
    if (soname.rfind(runtime, 0) == 0) return true;
  return false;
}

}  // namespace

std::string resolve_needed(const std::string& soname, const ElfFacts& of, const fs::path& file) {
  const fs::path origin = file.parent_path();
  if (soname.find('/') != std::string::npos) {
    const fs::path path = with_origin(soname, origin);
    return path.is_absolute() && is_there(path) ? path.string() : "";  // a relative one would count from the working directory
  }
  const char* variable = secure_getenv("LD_LIBRARY_PATH");
  if (auto p = from_this_process(soname); !p.empty()) return p;
  if (auto p = from_folders(of.run_path, soname, origin); !p.empty()) return p;
  if (auto p = from_folders(variable == nullptr ? "" : variable, soname, origin); !p.empty()) return p;
  if (auto p = from_loader_cache(soname); !p.empty()) return p;
  return from_folders(kSystemFolders, soname, origin);
}

std::string openmp_runtime(const ElfFacts& of, const fs::path& file) {
  std::deque<std::pair<ElfFacts, fs::path>> open{{of, file}};
  std::set<std::string> seen;
  while (!open.empty()) {
    const auto [facts, path] = std::move(open.front());
    open.pop_front();
    for (const auto& soname : facts.needed) {
      if (is_openmp(soname)) return soname;
      if (seen.size() == kMostLibraries || !seen.insert(soname).second) continue;
      if (const std::string found = resolve_needed(soname, facts, path); !found.empty()) open.emplace_back(facts_of(found), found);
    }
  }
  return "";
}

}  // namespace convoy::plugin
