// See machine.hpp.
#include "record/machine.hpp"

#include <sched.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

extern char** environ;

namespace convoy::record {
namespace {

/// The value of the first line "key<blanks>: value" of /proc/cpuinfo, or "".
std::string cpuinfo(const std::string& cpuinfo_text, std::string_view key) {
  std::istringstream lines(cpuinfo_text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with(key) || colon == std::string::npos) continue;
    if (line.find_first_not_of(" \t", key.size()) != colon) continue;  // a longer key
    const std::size_t value = line.find_first_not_of(" \t", colon + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return {};
}

std::vector<std::string> vector_extensions(const std::string& flags) {
  // Only what numerical libraries choose their code by; the full list has a hundred words.
  static constexpr std::array kPrefixes = {"sse", "ssse", "avx", "fma", "f16c", "amx", "asimd", "sve", "bf16", "i8mm"};
  std::istringstream words(flags);
  std::vector<std::string> out;
  std::copy_if(std::istream_iterator<std::string>(words), {}, std::back_inserter(out), [](const std::string& word) {
    return std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](const char* p) { return word.starts_with(p); });
  });
  std::sort(out.begin(), out.end());
  return out;
}

std::string whole_file(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::int64_t usable_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  // Fails on machines with more processors than the fixed set holds; then all are as good a guess as any.
  const bool known = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  return known ? CPU_COUNT(&allowed) : ::sysconf(_SC_NPROCESSORS_ONLN);
}

bool is_shared_object(std::string_view file) {
  const std::size_t at = file.rfind(".so");
  return at != std::string_view::npos && at > 0 && (at + 3 == file.size() || file[at + 3] == '.');
}

/// The C and C++ runtimes, which every process has.
bool is_runtime(std::string_view file) {
  static constexpr std::array kRuntimes = {
      "ld-linux", "ld-musl", "libc.so", "libc-2.", "libm.so",    "libm-2.", "libmvec.",  "libdl.",    "libpthread.",
      "librt.",   "libutil.", "libresolv.", "libnss_", "libstdc++.", "libc++.", "libc++abi.", "libgcc_s."};
  return std::any_of(kRuntimes.begin(), kRuntimes.end(), [&](const char* name) { return file.starts_with(name); });
}

}  // namespace

Machine this_machine() {
  Machine out;
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) == 0) out.hostname = host.data();
  utsname system{};
  if (::uname(&system) == 0) out.kernel = std::string(system.sysname) + " " + system.release;
  const std::string text = whole_file("/proc/cpuinfo");
  out.cpu_model = cpuinfo(text, "model name");
  const std::string flags = cpuinfo(text, "flags");
  out.isa = vector_extensions(flags.empty() ? cpuinfo(text, "Features") : flags);
  out.cores = usable_cores();
  out.cores_online = ::sysconf(_SC_NPROCESSORS_ONLN);
  out.memory_bytes = std::int64_t{::sysconf(_SC_PHYS_PAGES)} * ::sysconf(_SC_PAGESIZE);
  return out;
}

std::vector<std::string> libraries_in_maps(std::string_view maps) {
  std::set<std::string> found;
  std::istringstream lines{std::string(maps)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t slash = line.find('/');  // addresses, rights, offset, device and inode have none
    if (slash == std::string::npos) continue;
    std::string path = line.substr(slash);
    constexpr std::string_view kDeleted = " (deleted)";
    if (path.ends_with(kDeleted)) path.resize(path.size() - kDeleted.size());
    const std::string file = path.substr(path.rfind('/') + 1);
    if (is_shared_object(file) && !is_runtime(file)) found.insert(path);
  }
  return {found.begin(), found.end()};
}

std::vector<std::string> mapped_libraries() { return libraries_in_maps(whole_file("/proc/self/maps")); }

std::vector<std::pair<std::string, std::string>> environment_with(const std::vector<std::string>& prefixes) {
  std::vector<std::pair<std::string, std::string>> out;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    if (std::any_of(prefixes.begin(), prefixes.end(), [&](const std::string& p) { return name.starts_with(p); }))
      out.emplace_back(name, text.substr(equals + 1));
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace convoy::record
