#include "plugin/candidate.hpp"

#include "plugin/needed.hpp"
#include "plugin/search_path.hpp"

#include <convoy/abi.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <utility>

namespace convoy::plugin {

namespace {

namespace fs = std::filesystem;

Error refusal(const std::string& number, const std::string& text) { return Error(ErrorKind::plugin, text, number); }

#if defined(__SANITIZE_ADDRESS__)
constexpr const char* kHostSanitizer = "address";
#elif defined(__SANITIZE_THREAD__)
constexpr const char* kHostSanitizer = "thread";
#else
constexpr const char* kHostSanitizer = "none";
#endif

void check_epoch(const Manifest& m) {
  if (m.abi == CONVOY_ABI_EPOCH) return;
  const bool newer = m.abi > CONVOY_ABI_EPOCH;
  throw refusal(newer ? "P201" : "P202", fmt::format("plugin '{}' was built for plugin ABI {}; this runner speaks ABI {}",
                                                     m.name, m.abi, CONVOY_ABI_EPOCH))
      .note("cause", fmt::format("the plugin is {} than the runner", newer ? "newer" : "older"))
      .note("fix", newer ? fmt::format("a runner with ABI {}, or a build of '{}' for ABI {}", m.abi, m.name, CONVOY_ABI_EPOCH)
                         : fmt::format("rebuild it with find_package(Convoy {})", CONVOY_ABI_EPOCH));
}

void check_minor(const Manifest& m) {
  if (m.abi_min_minor <= CONVOY_ABI_MINOR) return;
  throw refusal("P203", fmt::format("plugin '{}' needs host interface {}.{}; this runner offers {}.{}", m.name, m.abi,
                                    m.abi_min_minor, CONVOY_ABI_EPOCH, CONVOY_ABI_MINOR))
      .note("fix", fmt::format("update the runner; or, for its author, build with CONVOY_TARGET_MINOR={}", CONVOY_ABI_MINOR));
}

/// Features may be written as compilers do ("sse4.2") or as the kernel does ("sse4_2"). Where the kernel says nothing, nothing
/// is known to be missing.
bool cpu_has(std::string feature) {
  static const std::string flags = [] {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);)
      if (line.rfind("flags", 0) == 0 || line.rfind("Features", 0) == 0) return line + " ";
    return std::string();
  }();
  std::replace(feature.begin(), feature.end(), '.', '_');
  if (feature == "sse3") feature = "pni";
  return flags.empty() || flags.find(" " + feature + " ") != std::string::npos;
}

void check_isa(const Manifest& m) {
  for (const auto& feature : m.isa)
    if (!cpu_has(feature))
      throw refusal("P204", fmt::format("'{}' needs CPU feature {}, which this machine lacks", m.name, feature));
}

void check_sanitizer(const Manifest& m) {
  if (m.sanitizer == kHostSanitizer) return;
  const auto said = [](const std::string& s) {
    return s == "none" ? std::string("without a sanitizer") : s == "address" ? "with AddressSanitizer" : "with ThreadSanitizer";
  };
  const std::string mine = kHostSanitizer == std::string("none") ? "was not" : said(kHostSanitizer);
  throw refusal("P205", fmt::format("'{}' was built {} and this runner {}", m.name, said(m.sanitizer), mine))
      .note("fix", m.sanitizer == "none" ? "a build of it with the runner's sanitizer, or a plain runner"
                                         : fmt::format("the {} runner, or a plain build", m.sanitizer == "address" ? "asan" : "tsan"));
}

void check_needed(const Candidate& c) {
  std::vector<std::string> all = c.elf.needed;
  all.insert(all.end(), c.manifest->global_libs.begin(), c.manifest->global_libs.end());
  for (const auto& soname : all) {
    if (resolve_needed(soname, c.elf, c.file).empty())
      throw refusal("P206", fmt::format("'{}' needs {}, which the system loader cannot find", c.manifest->name, soname))
          .note("fix", "install the package that brings it, or load its module");
  }
}

fs::path real_path(const fs::path& file) {
  std::error_code ec;
  const fs::path real = fs::canonical(file, ec);
  if (ec) throw refusal("P208", fmt::format("{} is not a plugin: it cannot be opened ({})", file.string(), ec.message()));
  return real;
}

}  // namespace

Error about(const Candidate& c, const Error& e) {
  std::string file = c.file.string();
  if (std::string(e.what()).find(file) != std::string::npos) return e;
  if (c.manifest) file += fmt::format(" ({} {})", c.manifest->name, c.manifest->version);
  std::vector<ErrorNote> notes{{"file", file}};
  notes.insert(notes.end(), e.notes().begin(), e.notes().end());
  return Error(e.kind(), e.what(), e.number(), std::move(notes));
}

Candidate examine(const fs::path& file, const fs::path& folder) {
  Candidate c;
  c.file = file;
  c.folder = folder;
  try {
    c.file = real_path(file);
    const PluginFile opened(c.file);
    c.identity = opened.identity();
    // The path's owners and modes; that it still leads to the file that is open is asked again when it is loaded.
    refuse_if_writable_by_others(c.file);
    // A link is followed to its file; the folder that holds the link decides where it points.
    if (const fs::path real = fs::canonical(folder); real != c.file.parent_path()) refuse_if_writable_by_others(real / file.filename());
    c.elf = read_elf(opened, c.file.string());
    if (!c.elf.manifest)
      throw refusal("P208", fmt::format("{} is not a plugin: it has no .convoy_manifest section", c.file.string()))
          .note("fix", "build it with convoy_add_plugin()");
    c.manifest = parse_manifest(*c.elf.manifest, c.file.string());
    check_epoch(*c.manifest);
    check_minor(*c.manifest);
    check_isa(*c.manifest);
    check_sanitizer(*c.manifest);
    check_needed(c);
  } catch (const Error& e) {
    c.refused = about(c, e);
  }
  return c;
}

}  // namespace convoy::plugin
