#include "plugin/library.hpp"

#include "plugin/needed.hpp"

#define BOOST_DLL_USE_STD_FS
#include <boost/dll/shared_library.hpp>

#include <convoy/sdk/plugin.hpp>

#include <fmt/format.h>

#include <dlfcn.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>

namespace convoy::plugin {

namespace {

using boost::dll::shared_library;

// Never destroyed: code, thread-locals and static destructors of plugins are needed until the very end.
std::vector<shared_library>& loaded_libraries() {
  static auto* libraries = new std::vector<shared_library>();
  return *libraries;
}

/// Boost.DLL puts the loader's own sentence into brackets, and behind them an error code that always says "Bad file
/// descriptor". The sentence holds a path, and so may hold brackets itself.
std::string bracketed(const std::string& what) {
  const std::string lead = "(dlerror system message: ";
  const auto at = what.find(lead), end = what.rfind("): ");
  if (at == std::string::npos || end == std::string::npos || end < at + lead.size()) return what;
  return what.substr(at + lead.size(), end - at - lead.size());
}

// The path and not a descriptor is given to the loader, so that $ORIGIN means the plugin's folder. Nobody but the user and
// root can write there (P104), so a change in between is an accident, such as a build going on. It is said, not used.
void refuse_if_changed(const Candidate& c) {
  if (identity_at(c.file) == c.identity) return;
  throw Error(ErrorKind::plugin, fmt::format("{} changed between being checked and being loaded", c.file.string()), "P104")
      .note("fix", "start again");
}

shared_library open_library(const Candidate& c) {
  constexpr auto kMode = boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local |
                         static_cast<boost::dll::load_mode::type>(RTLD_NODELETE);
  refuse_if_changed(c);
  shared_library library;
  try {
    library.load(c.file, kMode);
  } catch (const std::exception& e) {
    throw explain_loader(c.manifest->name, bracketed(e.what()));
  }
  refuse_if_changed(c);
  return library;
}

std::string list_of(const std::vector<Provided>& provided) {
  std::string out;
  for (const Provided& p : provided) out += fmt::format("{}{}:{}", out.empty() ? "" : ";", name_of(p.kind), p.name);
  return out.empty() ? "nothing" : out;
}

[[noreturn]] void refuse_lie(const Candidate& c, const std::string& declared, const std::string& offered) {
  throw Error(ErrorKind::plugin, fmt::format("'{}' declares {} in its manifest but its entry point offered {}",
                                             c.manifest->name, declared, offered), "P306")
      .note("cause", "its author's error; nothing was created");
}

void check_factories(const Candidate& c, const PluginTable& table) {
  std::vector<Provided> real;
  bool whole = table.factories.p != nullptr || table.factories.n == 0;
  for (uint64_t i = 0; whole && i < table.factories.n; ++i) {
    IFactory* f = table.factories.p[i];
    if (f == nullptr) whole = false;
    else real.push_back({f->kind(), sdk::text(f->name())});
  }
  const auto& want = c.manifest->provides;
  if (!whole || want.size() != real.size() || !std::is_permutation(want.begin(), want.end(), real.begin(), real.end()))
    refuse_lie(c, list_of(want), whole ? list_of(real) : "a null factory");
  if (table.abi_minor != c.manifest->abi_min_minor)
    refuse_lie(c, fmt::format("minor {}", c.manifest->abi_min_minor), fmt::format("minor {}", table.abi_minor));
}

PluginTable call_entry(const Candidate& c, EntryFn entry, Host& host) {
  PluginTable table{};
  table.struct_size = sizeof table;
  host.take_message();  // what an earlier call left is not this one's
  Code code = Code::internal;
  try {
    code = entry(&host, &table);
  } catch (const std::exception& e) {  // against the rules, and possible: an entry point is plain C++
    host.fail(code, {}, sdk::str(e.what()));
  } catch (...) {
    host.fail(code, {}, sdk::str("an exception of an unknown type"));
  }
  const std::string words = host.take_message();
  if (code == Code::ok) return table;
  throw Error(ErrorKind::plugin, fmt::format("'{}' failed in its entry point: '{}'", c.manifest->name,
                                             words.empty() ? "no message" : words), "P304")
      .note("cause", "the plugin's own words; nothing was created");
}

std::vector<long long> numbers_of(const std::string& version) {
  std::vector<long long> out;
  std::istringstream in(version);
  for (std::string part; std::getline(in, part, '.');) out.push_back(part.empty() ? 0 : std::stoll(part));
  return out;
}

/// The newest version of a family ("GLIBCXX") that a library offers, from the names in its file; empty where it has none.
std::string newest_version(const std::string& library, const std::string& family) {
  std::ifstream in(library, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  std::string best;
  const std::string lead = '\0' + family + '_';
  for (auto at = bytes.find(lead); at != std::string::npos; at = bytes.find(lead, at + 1)) {
    const auto start = at + lead.size(), end = bytes.find_first_not_of("0123456789.", start);
    if (end == std::string::npos || bytes[end] != '\0' || end - start > 12) continue;  // GLIBCXX_DEBUG_MESSAGE_LENGTH
    const std::string version = bytes.substr(start, end - start);
    if (best.empty() || numbers_of(best) < numbers_of(version)) best = version;
  }
  return best;
}

Error explain_version(const std::string& plugin, const std::string& library, const std::string& family,
                      const std::string& version, const std::string& text) {
  const std::string name = std::filesystem::path(library).filename().string();
  const std::string newest = newest_version(library, family);
  const std::string here = newest.empty() ? fmt::format("this system's {} does not have it", name)
                                          : fmt::format("this system's {} stops at {}", name, newest);
  return Error(ErrorKind::plugin, fmt::format("'{}' needs {}_{}; {}", plugin, family, version, here), "P302")
      .note("cause", text)
      .note("fix", fmt::format("a build made on an older distribution, or a newer {}", name));
}

/// What stands in front of a mark; empty where the mark is not there. Names of files may hold anything but the mark.
std::string before(const std::string& text, const std::string& mark) {
  const auto at = text.find(mark);
  return at == text.npos ? "" : text.substr(0, at);
}

/// What stands behind a mark, up to one of the ends.
std::string after(const std::string& text, const std::string& mark, const char* ends) {
  const auto at = text.find(mark);
  if (at == text.npos) return "";
  const auto start = at + mark.size();
  return text.substr(start, text.find_first_of(ends, start) - start);
}

}  // namespace

Error explain_loader(const std::string& plugin, const std::string& text) {
  // The loader's sentences: "WHO: version `GLIBCXX_9' not found (required by ...)", "WHO: undefined symbol: NAME, version ...".
  if (const auto who = before(text, ": version `"); !who.empty() && text.find("' not found") != text.npos) {
    const std::string wanted = after(text, ": version `", "'");
    const auto bar = wanted.rfind('_');
    if (bar != wanted.npos) return explain_version(plugin, who, wanted.substr(0, bar), wanted.substr(bar + 1), text);
  }
  if (const auto symbol = after(text, "undefined symbol: ", " ,)"); !symbol.empty())
    return Error(ErrorKind::plugin, fmt::format("'{}' could not be loaded: undefined symbol {}", plugin, symbol), "P301")
        .note("cause", text)
        .note("fix", "the library is incomplete; tell its author to link with -z defs");
  if (const auto who = before(text, ": cannot allocate memory in static TLS"); !who.empty())
    return Error(ErrorKind::plugin, fmt::format("'{}' needs static TLS and none is left ({})", plugin,
                                                std::filesystem::path(who).filename().string()), "P305")
        .note("cause", text)
        .note("fix", "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=4096 runner ...");
  if (const auto who = before(text, ": cannot open shared object file"); !who.empty())
    return Error(ErrorKind::plugin, fmt::format("'{}' needs {}, which the system loader cannot find", plugin, who), "P206")
        .note("cause", text)
        .note("fix", "install the package that brings it, or load its module");
  return Error(ErrorKind::plugin, fmt::format("'{}' could not be loaded: {}", plugin, text), "P301");
}

namespace {

void map(const Candidate& c, Host& host) {
  for (const std::string& name : c.manifest->global_libs) {
    const std::string path = resolve_needed(name, c.elf, c.file);
    host.log(2, sdk::str("plugin"), sdk::str(fmt::format("opening {} for all, as '{}' asks", path, c.manifest->name)));
    if (dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) throw explain_loader(c.manifest->name, dlerror());
  }
  loaded_libraries().push_back(open_library(c));
}

Library load(const Candidate& c, Host& host) {
  map(c, host);
  const shared_library library = loaded_libraries().back();
  if (!library.has("convoy_plugin_entry_1"))
    throw Error(ErrorKind::plugin, fmt::format("'{}' has a manifest but no symbol convoy_plugin_entry_1", c.manifest->name), "P303")
        .note("fix", "end one source file with CONVOY_PLUGIN(...)");
  auto& entry = library.get<Code(IHost*, PluginTable*)>("convoy_plugin_entry_1");
  const PluginTable table = call_entry(c, &entry, host);
  check_factories(c, table);
  Library out;
  out.factories.assign(table.factories.p, table.factories.p + table.factories.n);
  out.shutdown = table.shutdown;
  return out;
}

/// Runs one step of loading; what it throws says which file it is about.
template <class Step>
auto naming_the_file(const Candidate& c, Step step) {
  try {
    return step();
  } catch (const Error& e) {
    throw about(c, e);
  }
}

}  // namespace

void map_library(const Candidate& c, Host& host) {
  naming_the_file(c, [&] { map(c, host); });
}

Library load_library(const Candidate& c, Host& host) {
  return naming_the_file(c, [&] { return load(c, host); });
}

}  // namespace convoy::plugin
