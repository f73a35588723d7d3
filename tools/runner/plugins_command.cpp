#include "runner/plugins_command.hpp"

#include "experiment/schema.hpp"
#include "nearest.hpp"
#include "plugin/candidate.hpp"
#include "plugin/library.hpp"
#include "runner/arguments.hpp"
#include "runner/environment.hpp"
#include "runner/probe_child.hpp"
#include "sha256.hpp"

#include <convoy/sdk/plugin.hpp>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>

namespace convoy::runner {

namespace {

using Json = nlohmann::ordered_json;
using plugin::Candidate;
using plugin::Row;

/// A plugin's own words may be no UTF-8.
std::string text_of(const Json& j, int indent = -1) { return j.dump(indent, ' ', false, Json::error_handler_t::replace); }

std::string state_of(const Row& row) {
  if (row.candidate->refused)
    return fmt::format("refused {}: {}", row.candidate->refused->number(), row.candidate->refused->what());
  if (row.clash) return fmt::format("refused P102: {}", row.clash->what());
  if (row.shadowed_by != nullptr) return "shadowed by " + row.shadowed_by->file.string();
  return "ready (not loaded)";
}

std::string abi_text(const Candidate& c) {
  return c.manifest ? fmt::format("{}.{}", c.manifest->abi, c.manifest->abi_min_minor) : "-";
}

/// The child's answer about one file, by "kind:name".
using Probes = std::map<const Candidate*, ProbeOutcome>;

Probes probe_all(const std::vector<Row>& rows) {
  Probes out;
  for (const Row& row : rows)
    if (!row.candidate->refused && out.count(row.candidate) == 0)
      out[row.candidate] = probe_in_child(program_path(), row.candidate->file);
  return out;
}

/// "ready", "not usable: no driver", "crashed: SIGSEGV ...".
std::string probed_state(const Row& row, const Probes& probes) {
  const auto found = probes.find(row.candidate);
  if (found == probes.end()) return state_of(row);
  if (!found->second.answered) return found->second.failure;
  const Json answer = Json::parse(found->second.json, nullptr, false);
  if (answer.is_discarded()) return "answered what is no JSON";
  if (answer.contains("error")) return answer["error"].get<std::string>();
  for (const auto& p : answer["provides"]) {
    if (p["kind"] != row.kind || p["name"] != row.name) continue;
    if (p["score"] == 0) return "not usable: " + p["reason"].get<std::string>();
    return p["devices"] == 0 ? "ready" : fmt::format("ready, {} devices", p["devices"].get<int>());
  }
  return "did not mention itself";
}

Json row_json(const Row& row, const Probes& probes) {
  Json j;
  j["kind"] = row.kind;
  j["name"] = row.name;
  j["version"] = row.candidate->manifest ? row.candidate->manifest->version : "";
  j["abi"] = abi_text(*row.candidate);
  j["state"] = probed_state(row, probes);
  j["usable"] = !row.candidate->refused && !row.clash && row.shadowed_by == nullptr;
  j["file"] = row.candidate->file.string();
  return j;
}

std::vector<Row> sorted_rows(const plugin::Registry& registry) {
  auto rows = registry.rows();
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return std::pair(a.kind, a.name) < std::pair(b.kind, b.name); });
  return rows;
}

void print_table(const std::vector<Row>& rows, const Probes& probes) {
  fmt::print("{:<8} {:<18} {:<8} {:<4} {:<30} {}\n", "kind", "name", "version", "abi", "state", "file");
  for (const Row& row : rows)
    fmt::print("{:<8} {:<18} {:<8} {:<4} {:<30} {}\n", row.kind.empty() ? "-" : row.kind, row.name,
               row.candidate->manifest ? row.candidate->manifest->version : "-", abi_text(*row.candidate),
               probed_state(row, probes), row.candidate->file.string());
}

int list(Environment& environment, const PluginsArguments& a) {
  const auto rows = sorted_rows(environment.registry());
  const Probes probes = a.probe ? probe_all(rows) : Probes{};
  if (!a.json) {
    print_table(rows, probes);
    return 0;
  }
  Json all = Json::array();
  for (const Row& row : rows) all.push_back(row_json(row, probes));
  fmt::print("{}\n", text_of(all, 2));
  return 0;
}

std::string file_sha256(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return sha256_hex(std::string(std::istreambuf_iterator<char>(in), {}));
}

Json options_json(Environment& environment, const Row& row) {
  Json out = Json::array();
  Kind wanted{};
  for (const auto& p : row.candidate->manifest->provides)
    if (plugin::name_of(p.kind) == row.kind) wanted = p.kind;
  for (const auto& rule : experiment::parse_schema(environment.registry().options_schema(wanted, row.name), row.name)) {
    Json o;
    o["key"] = rule.key;
    o["type"] = experiment::name_of(rule.kind);
    o["default"] = rule.otherwise ? Json(experiment::toml_text(*rule.otherwise)) : Json();
    o["allowed"] = experiment::allowed_text(rule);
    o["doc"] = rule.doc;
    out.push_back(o);
  }
  return out;
}

Json detail_json(Environment& environment, const Row& row) {
  Json j = row_json(row, {});
  const Candidate& c = *row.candidate;
  j["build_id"] = c.elf.build_id;
  j["sha256"] = file_sha256(c.file);
  if (c.manifest) {
    j["toolchain"] = c.manifest->toolchain;
    j["source"] = c.manifest->source;
    j["opset"] = c.manifest->opset;
    j["sanitizer"] = c.manifest->sanitizer;
  }
  j["needed"] = Json::object();
  for (const auto& soname : c.elf.needed) j["needed"][soname] = plugin::resolve_needed(soname, c);
  if (j["usable"]) j["options"] = options_json(environment, row);
  return j;
}

void print_detail(const Json& j) {
  for (const char* key : {"kind", "name", "version", "abi", "state", "file", "toolchain", "source", "build_id", "sha256"})
    if (j.contains(key)) fmt::print("{:<10} {}\n", key, j[key].get<std::string>());
  for (const auto& [soname, where] : j["needed"].items())
    fmt::print("{:<10} {} -> {}\n", "needs", soname, where.get<std::string>().empty() ? "not found" : where.get<std::string>());
  if (!j.contains("options")) return;
  fmt::print("options\n");
  for (const auto& o : j["options"])
    fmt::print("  {:<16} {:<9} {:<14} {}{}\n", o["key"].get<std::string>(), o["type"].get<std::string>(),
               o["default"].is_null() ? "(required)" : "= " + o["default"].get<std::string>(), o["doc"].get<std::string>(),
               o["allowed"].get<std::string>().empty() ? "" : " (" + o["allowed"].get<std::string>() + ")");
}

int detail(Environment& environment, const PluginsArguments& a) {
  Json all = Json::array();
  std::vector<std::string> known;
  for (const Row& row : sorted_rows(environment.registry())) {
    known.push_back(row.name);
    if (row.name == a.name) all.push_back(detail_json(environment, row));
  }
  if (all.empty()) {
    Error e(ErrorKind::usage, fmt::format("no plugin is called '{}'", a.name), "P101");
    e.note("known", join_names(known));
    if (const auto near = nearest_name(a.name, known); !near.empty()) e.note("fix", fmt::format("did you mean '{}'?", near));
    throw e;
  }
  if (a.json) return fmt::print("{}\n", text_of(all, 2)), 0;
  for (const auto& j : all) print_detail(j);
  return 0;
}

Candidate examine_file(const std::string& file) {
  const auto path = std::filesystem::absolute(file);
  Candidate c = plugin::examine(path, path.parent_path());
  if (c.refused) throw *c.refused;
  return c;
}

Json probe_factory(plugin::Host& host, IFactory& f) {
  auto result = sdk::sized<ProbeResult>();
  Json j;
  j["kind"] = plugin::name_of(f.kind());
  j["name"] = sdk::text(f.name());
  try {
    host.check(f.probe(&result), sdk::text(f.name()), "probe this machine");
  } catch (const Error& e) {
    result.score = 0;
    sdk::copy_text(result.reason, e.what());
  }
  result.reason[sizeof result.reason - 1] = '\0';
  j["score"] = result.score;
  j["reason"] = result.reason;
  j["devices"] = result.n_devices;
  return j;
}

/// The way back to the program that asks. Standard output is set aside: vendors' libraries write to it.
class Reply {
 public:
  Reply() : to_(fdopen(fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3), "w")) { dup2(STDERR_FILENO, STDOUT_FILENO); }

  void stage(const char* name) { line(kStageMark + std::string(name)); }
  void line(const std::string& text) {
    fmt::print(to_, "{}\n", text);
    std::fflush(to_);
  }

 private:
  std::FILE* to_;
};

/// What the child does: loads the one file and says what it found, and before each step what comes next.
int probe_one(Environment& environment, const std::string& file) {
  Reply reply;
  Json j;
  try {
    const Candidate c = examine_file(file);
    reply.stage("static initialisers");
    plugin::map_library(c, environment.host());
    reply.stage("its entry point");
    const auto library = plugin::load_library(c, environment.host());
    reply.stage("its probe");
    j["provides"] = Json::array();
    for (IFactory* f : library.factories) j["provides"].push_back(probe_factory(environment.host(), *f));
  } catch (const Error& e) {
    j = {{"error", fmt::format("refused {}: {}", e.number(), e.what())}};
  }
  reply.line(text_of(j));
  reply.stage("its end");
  return 0;
}

int check(Environment& environment, const std::string& file) {
  const Candidate c = examine_file(file);
  const auto library = plugin::load_library(c, environment.host());
  for (IFactory* f : library.factories) {
    experiment::parse_schema(sdk::text(f->options_schema()), sdk::text(f->name()));
    fmt::print("{} '{}' {}: ok\n", plugin::name_of(f->kind()), sdk::text(f->name()), c.manifest->version);
  }
  return 0;
}

}  // namespace

int plugins_command(const std::vector<std::string>& args) {
  const PluginsArguments a = parse_plugins_arguments(args);
  if (a.help) return 0;
  Environment environment(a.plugin_dirs, record::LogLevel::warning);
  if (!a.probe_one.empty()) return probe_one(environment, a.probe_one);
  if (!a.check.empty()) return check(environment, a.check);
  return a.name.empty() ? list(environment, a) : detail(environment, a);
}

}  // namespace convoy::runner
