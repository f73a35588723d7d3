#include "plugin/library.hpp"

#define BOOST_DLL_USE_STD_FS
#include <boost/dll/shared_library.hpp>

#include <convoy/sdk/plugin.hpp>

#include <fmt/format.h>

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <regex>

namespace convoy::plugin {

namespace {

using boost::dll::shared_library;

// Never destroyed: code, thread-locals and static destructors of plugins are needed until the very end.
std::vector<shared_library>& loaded_libraries() {
  static auto* libraries = new std::vector<shared_library>();
  return *libraries;
}

/// What stands in the brackets of a boost system_error is the loader's own sentence.
std::string bracketed(const std::string& what) {
  const auto open = what.find('['), close = what.rfind(']');
  std::string text = open == std::string::npos || close == std::string::npos || close < open ? what : what.substr(open + 1, close - open - 1);
  for (const std::string lead : {"system:", "generic:"})
    if (const auto at = text.find(lead); at == 0) text = text.substr(lead.size());
  return text;
}

shared_library open_library(const Candidate& c) {
  constexpr auto kMode = boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local |
                         static_cast<boost::dll::load_mode::type>(RTLD_NODELETE);
  struct stat before {};
  stat(c.file.c_str(), &before);
  shared_library library;
  try {
    library.load(c.file, kMode);
  } catch (const std::exception& e) {
    throw explain_loader(c.manifest->name, bracketed(e.what()));
  }
  // The path, not a descriptor, is given to the loader, so that $ORIGIN works; the folder cannot be written by others
  // (P104), so a swap in between could only be the user's own. It is still said.
  struct stat after {};
  if (stat(c.file.c_str(), &after) != 0 || before.st_ino != after.st_ino || before.st_mtime != after.st_mtime)
    throw Error(ErrorKind::plugin, fmt::format("{} changed while it was being loaded", c.file.string()), "P104")
        .note("fix", "start again");
  return library;
}

void check_factories(const Candidate& c, const PluginTable& table) {
  std::string declared, offered;
  for (const Provided& p : c.manifest->provides)
    declared += fmt::format("{}{}:{}", declared.empty() ? "" : ";", name_of(p.kind), p.name);
  std::vector<Provided> real;
  for (uint64_t i = 0; i < table.factories.n; ++i) {
    IFactory* f = table.factories.p[i];
    real.push_back({f->kind(), sdk::text(f->name())});
    offered += fmt::format("{}{}:{}", offered.empty() ? "" : ";", name_of(f->kind()), real.back().name);
  }
  const auto& want = c.manifest->provides;
  const bool equal = want.size() == real.size() &&
                     std::is_permutation(want.begin(), want.end(), real.begin(), real.end());
  if (!equal || table.abi_minor != c.manifest->abi_min_minor)
    throw Error(ErrorKind::plugin,
                fmt::format("'{}' declares {} (minor {}) in its manifest but its entry point offered {} (minor {})",
                            c.manifest->name, declared, c.manifest->abi_min_minor, offered, table.abi_minor),
                "P306")
        .note("cause", "its author's error; nothing was created");
}

PluginTable call_entry(const Candidate& c, EntryFn entry, Host& host) {
  PluginTable table{};
  table.struct_size = sizeof table;
  Code code = Code::internal;
  try {
    code = entry(&host, &table);
  } catch (...) {  // against the rules, and possible: the entry is plain C++ until CONVOY_PLUGIN wraps it
    host.fail(code, sdk::str("entry"), sdk::str("an exception left the entry point"));
  }
  if (code == Code::ok) return table;
  const std::string words = host.take_message();
  throw Error(ErrorKind::plugin, fmt::format("'{}' failed in its entry point: '{}'", c.manifest->name,
                                             words.empty() ? "no message" : words), "P304")
      .note("cause", "the plugin's own words; nothing was created");
}

}  // namespace

Error explain_loader(const std::string& plugin, const std::string& text) {
  std::smatch m;
  if (std::regex_search(text, m, std::regex("version [`']((GLIBCXX|GLIBC|CXXABI)_[0-9.]+)' not found")))
    return Error(ErrorKind::plugin, fmt::format("'{}' needs {}, which this system's libraries do not have", plugin, m[1].str()), "P302")
        .note("fix", "a build made on an older distribution, or a newer system")
        .note("cause", text);
  if (std::regex_search(text, m, std::regex("undefined symbol: ([^ ,)]+)")))
    return Error(ErrorKind::plugin, fmt::format("'{}' could not be loaded: undefined symbol {}", plugin, m[1].str()), "P301")
        .note("fix", "the library is incomplete; tell its author to link with -z defs")
        .note("cause", text);
  if (text.find("static TLS") != std::string::npos)
    return Error(ErrorKind::plugin, fmt::format("'{}' needs static TLS and none is left", plugin), "P305")
        .note("cause", text)
        .note("fix", "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=4096 runner ...");
  if (std::regex_search(text, m, std::regex("([^ :]+): cannot open shared object file")))
    return Error(ErrorKind::plugin, fmt::format("'{}' needs {}, which the system loader cannot find", plugin, m[1].str()), "P206")
        .note("fix", "install the package that brings it, or load its module")
        .note("cause", text);
  return Error(ErrorKind::plugin, fmt::format("'{}' could not be loaded: {}", plugin, text), "P301");
}

Library load_library(const Candidate& c, Host& host) {
  for (const std::string& name : c.manifest->global_libs) {
    host.log(2, sdk::str("plugin"), sdk::str(fmt::format("opening {} for all, as '{}' asks", name, c.manifest->name)));
    if (dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL) == nullptr) throw explain_loader(c.manifest->name, dlerror());
  }
  shared_library library = open_library(c);
  if (!library.has("convoy_plugin_entry_1"))
    throw Error(ErrorKind::plugin, fmt::format("'{}' has a manifest but no symbol convoy_plugin_entry_1", c.manifest->name), "P303")
        .note("fix", "end one source file with CONVOY_PLUGIN(...)");
  auto& entry = library.get<Code(IHost*, PluginTable*)>("convoy_plugin_entry_1");
  loaded_libraries().push_back(library);
  const PluginTable table = call_entry(c, &entry, host);
  check_factories(c, table);
  Library out;
  out.factories.assign(table.factories.p, table.factories.p + table.factories.n);
  out.shutdown = table.shutdown;
  return out;
}

}  // namespace convoy::plugin
