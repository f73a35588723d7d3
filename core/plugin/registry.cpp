#include "plugin/registry.hpp"

#include "nearest.hpp"
#include "plugin/abi_options.hpp"
#include "plugin/needed.hpp"
#include "sha256.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

namespace convoy::plugin {

namespace {

namespace fs = std::filesystem;

std::string provided_text(const Candidate& c) {
  std::string out;
  for (const Provided& p : c.manifest->provides) out += fmt::format("{}{}:{}", out.empty() ? "" : ", ", name_of(p.kind), p.name);
  return out;
}

/// With links followed; as it stands where that is impossible, so that examining it says why.
fs::path real_path(const fs::path& file) {
  std::error_code ec;
  const fs::path real = fs::canonical(file, ec);
  return ec ? fs::absolute(file).lexically_normal() : real;
}

std::string sha256_file(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string piece(1 << 16, '\0');
  Sha256 hash;
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0)
    hash.update(std::string_view(piece.data(), static_cast<std::size_t>(in.gcount())));
  return hash.hex();
}

/// In the order of their names; `ec` says where the folder could not be read to its end.
std::vector<fs::path> plugin_files(const fs::path& folder, std::error_code& ec) {
  std::vector<fs::path> files;
  for (fs::directory_iterator it(folder, ec), end; !ec && it != end; it.increment(ec))
    if (it->path().filename().string().ends_with(".convoy.so")) files.push_back(it->path());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Registry::Registry(Host& host, const SearchPath& path, std::size_t asked_folders)
    : host_(host), folders_(path.folders), warnings_(path.warnings) {
  for (std::size_t i = 0; i < path.folders.size(); ++i) scan(path.folders[i], i < asked_folders);
}

void Registry::scan(const fs::path& folder, bool must_exist) {
  std::error_code ec;
  const fs::path real = fs::canonical(folder, ec);
  if (ec || !fs::is_directory(real)) {
    if (must_exist)
      throw Error(ErrorKind::usage, fmt::format("--plugin-dir {}: there is no such folder", folder.string()));
    return;
  }
  for (const auto& file : plugin_files(real, ec)) {
    const auto seen = [real_file = real_path(file)](const auto& c) { return c->file == real_file; };
    if (std::any_of(candidates_.begin(), candidates_.end(), seen)) continue;  // one folder given twice
    candidates_.push_back(std::make_unique<Candidate>(examine(file, real)));
    add_rows(*candidates_.back());
    if (must_exist) warn_if_refused(*candidates_.back());
  }
  if (!ec) return;
  const std::string why = fmt::format("{} cannot be read ({})", folder.string(), ec.message());
  if (must_exist) throw Error(ErrorKind::usage, "--plugin-dir " + why);
  warnings_.push_back("warning: the plugin folder " + why);
}

void Registry::warn_if_refused(const Candidate& c) {
  if (!c.refused) return;
  const std::string file = c.file.string(), why = c.refused->what();
  refused_warnings_.push_back(fmt::format("warning[{}]: {}{}; nothing of it is used", c.refused->number(), why.find(file) == why.npos ? file + ": " : "", why));
}

void Registry::add_rows(const Candidate& c) {
  if (!c.manifest) {
    rows_.push_back({&c, "", c.file.filename().string(), nullptr, std::nullopt});
    return;
  }
  for (const Provided& p : c.manifest->provides) {
    Row row{&c, name_of(p.kind), p.name, nullptr, std::nullopt};
    for (Row& other : rows_) {
      if (other.kind != row.kind || other.name != row.name || other.shadowed_by != nullptr) continue;
      if (other.candidate->folder != c.folder) {
        row.shadowed_by = other.candidate;
        break;
      }
      row.clash = Error(ErrorKind::usage,
                        fmt::format("two files in {} provide {} '{}': {}, {}", c.folder.string(), row.kind, row.name,
                                    other.candidate->file.filename().string(), c.file.filename().string()),
                        "P102")
                      .note("fix", "remove one");
      other.clash = row.clash;
    }
    rows_.push_back(row);
  }
}

void Registry::allow_experiment_plugins(const fs::path& experiment_folder) { experiment_folder_ = experiment_folder; }

const Candidate& Registry::examined(const fs::path& file) {
  const fs::path real = real_path(file);
  for (const auto& c : candidates_)
    if (c->file == real) return *c;
  candidates_.push_back(std::make_unique<Candidate>(examine(file, file.parent_path())));
  return *candidates_.back();
}

const Candidate& Registry::find_file(Kind kind, const std::string& path, const Position& at) {
  if (!experiment_folder_)
    throw Error(ErrorKind::usage,
                fmt::format("{} asks to load '{}', which would run code shipped with an experiment file",
                            at.file.empty() ? "the experiment" : at.file, path),
                "P105")
        .note("fix", "check the file, then add --allow-experiment-plugins");
  const fs::path file = fs::absolute(*experiment_folder_ / path).lexically_normal();
  const Candidate& c = examined(file);
  if (c.refused) throw *c.refused;
  // A link may lead to a file that was examined before, from a folder that was not.
  refuse_if_writable_by_others(fs::canonical(file.parent_path()) / file.filename());
  const auto& provides = c.manifest->provides;
  const auto n = std::count_if(provides.begin(), provides.end(), [&](const Provided& p) { return p.kind == kind; });
  if (n == 0)
    throw Error(ErrorKind::usage, fmt::format("'{}' provides no {} (it provides {})", path, name_of(kind), provided_text(c)), "P107")
        .note("fix", fmt::format("[{}] use = \"{}\"", table_of(provides[0].kind), path));
  if (n > 1)
    throw Error(ErrorKind::usage, fmt::format("'{}' provides {} of kind {} (it provides {})", path, n, name_of(kind), provided_text(c)), "P107")
        .note("fix", fmt::format("--plugin-dir {}, and name one of them", c.file.parent_path().string()));
  return c;
}

const Candidate& Registry::find(Kind kind, const std::string& name, const Position& at) {
  if (name.find('/') != std::string::npos) return find_file(kind, name, at);
  std::vector<std::string> known;
  for (const Row& row : rows_) {
    if (row.kind != name_of(kind) || row.shadowed_by != nullptr) continue;
    known.push_back(row.name);
    if (row.name != name) continue;
    if (row.clash) throw *row.clash;
    if (row.candidate->refused) throw *row.candidate->refused;
    return *row.candidate;
  }
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  const std::string where = to_string(at);
  Error e(ErrorKind::usage, fmt::format("no plugin provides {} '{}' ({}.use{})", name_of(kind), name, table_of(kind),
                                        where.empty() ? "" : ", " + where), "P101");
  e.note("known", known.empty() ? "none" : join_names(known));
  if (known.empty()) e.note("looked", searched_text());
  note_unreadable(e);
  if (const auto near = nearest_name(name, known); !near.empty()) e.note("fix", fmt::format("did you mean '{}'?", near));
  throw e;
}

void Registry::note_unreadable(Error& e) const {
  constexpr std::size_t kMost = 3;
  std::size_t n = 0;
  for (const Row& row : rows_)
    if (row.kind.empty() && ++n <= kMost) e.note("refused", fmt::format("{}: {}", row.candidate->refused->number(), row.candidate->refused->what()));
  if (n > kMost) e.note("refused", fmt::format("{} more; runner plugins lists them", n - kMost));
}

const Registry::Loaded& Registry::load(const Candidate& c) {
  const auto found = loaded_.find(&c);
  if (found != loaded_.end()) return found->second;
  const std::string openmp = openmp_runtime(c.elf, c.file);
  warn_of_second_openmp(c, openmp);
  Library library = load_library(c, host_);
  for (const Provided& p : c.manifest->provides)
    host_.introduce(p.name, fmt::format("{} ({} {})", c.file.string(), c.manifest->name, c.manifest->version));
  used_.push_back({&c, sha256_file(c.file)});
  return loaded_.emplace(&c, Loaded{std::move(library), openmp}).first->second;
}

void Registry::warn_of_second_openmp(const Candidate& c, const std::string& mine) {
  for (const auto& [other, l] : loaded_)
    if (!mine.empty() && !l.openmp.empty() && mine != l.openmp)
      host_.log(1, sdk::str("plugin"),
                sdk::str(fmt::format("warning[P207]: '{}' needs {} and '{}' {}: two OpenMP runtimes in one process are known to "
                                     "crash or hang", c.manifest->name, mine, other->manifest->name, l.openmp)));
}

std::string Registry::searched_text() const {
  std::string out;
  for (const auto& folder : folders_) out += (out.empty() ? "" : ", ") + folder.string();
  return "in " + (out.empty() ? "no folder" : out);
}

IFactory& Registry::factory(Kind kind, const std::string& name, const Position& at) {
  const Candidate& c = find(kind, name, at);
  const bool by_file = name.find('/') != std::string::npos;
  for (IFactory* f : load(c).library.factories)
    if (f->kind() == kind && (by_file || sdk::text(f->name()) == name)) return *f;
  throw Error(ErrorKind::bug, fmt::format("'{}' lost its {}", c.manifest->name, name_of(kind)));
}

std::string Registry::version(Kind kind, const std::string& name) { return find(kind, name, {}).manifest->version; }

std::string Registry::options_schema(Kind kind, const std::string& name, const Position& at) {
  return sdk::text(factory(kind, name, at).options_schema());
}

ProbeResult Registry::probe(Kind kind, const std::string& name, const Position& at) {
  auto result = sdk::sized<ProbeResult>();
  host_.check(factory(kind, name, at).probe(&result), name, "probe this machine");
  result.reason[sizeof result.reason - 1] = '\0';  // the plugin's duty, but it is read as text below
  if (result.score == 0)
    throw about(find(kind, name, at), Error(ErrorKind::plugin, fmt::format("{} '{}' is not usable here: {}", name_of(kind), name,
                                            result.reason[0] != '\0' ? result.reason : "it gave no reason"), "P401"));
  return result;
}

Owned<IObject> Registry::create_object(Kind kind, const std::string& name, const experiment::OptionList& options,
                                       const Position& at) {
  const AbiOptions abi(options, table_of(kind));
  IObject* out = nullptr;
  const Code code = factory(kind, name, at).create(abi.view(), &out);
  try {
    host_.check(code, name, fmt::format("create the {}", name_of(kind)));
  } catch (Error& e) {
    if (const auto where = to_string(at); code == Code::invalid && !where.empty()) e.note("where", fmt::format("[{}], {}", table_of(kind), where));
    throw;
  }
  if (out == nullptr)
    throw about(find(kind, name, at), Error(ErrorKind::plugin, fmt::format("{} '{}' created nothing and said ok", name_of(kind), name)));
  return Owned<IObject>(out);
}

void Registry::shutdown() {
  for (auto u = used_.rbegin(); u != used_.rend(); ++u)  // the last loaded first
    if (auto* f = std::exchange(loaded_.at(u->candidate).library.shutdown, nullptr); f != nullptr) f();
}

}  // namespace convoy::plugin
