#include "runner/plugins_command.hpp"

#include "experiment/schema.hpp"
#include "nearest.hpp"
#include "plugin/candidate.hpp"
#include "plugin/needed.hpp"
#include "runner/arguments.hpp"
#include "runner/environment.hpp"
#include "runner/probe_child.hpp"
#include "runner/probe_one.hpp"
#include "sha256.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
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

/// What became of each file's child.
using Probes = std::map<const Candidate*, ProbeOutcome>;

Probes probe_all(const std::vector<Row>& rows) {
  Probes out;
  for (const Row& row : rows)
    if (!row.candidate->refused && out.count(row.candidate) == 0)
      out[row.candidate] = probe_in_child(program_path(), row.candidate->file);
  return out;
}

/// What the child said about one thing that its file provides, as probe_one.hpp describes it; `failure` where it said nothing.
struct Answer {
  std::string failure;
  Json said;
};

Answer answer_of(const Row& row, const ProbeOutcome& outcome) {
  if (!outcome.answered) return {outcome.failure, {}};
  const Json all = Json::parse(outcome.json, nullptr, false);
  if (!all.is_object()) return {"answered what is no JSON", {}};
  if (all.contains("error")) return {all["error"].get<std::string>(), {}};
  for (const auto& p : all["provides"])
    if (p["kind"] == row.kind && p["name"] == row.name) return {"", p};
  return {"did not mention itself", {}};
}

/// "ready", "not usable: no driver", "crashed: SIGSEGV ...".
std::string probed_state(const Row& row, const Answer& answer) {
  if (row.clash || row.shadowed_by != nullptr) return state_of(row);
  if (!answer.failure.empty()) return answer.failure;
  if (answer.said["score"] == 0) return "not usable: " + answer.said["reason"].get<std::string>();
  const auto devices = answer.said["devices"].get<uint32_t>();
  return devices == 0 ? "ready" : fmt::format("ready, {} device{}", devices, devices == 1 ? "" : "s");
}

Json row_json(const Row& row, const Probes& probes) {
  const Candidate& c = *row.candidate;
  Json j;
  j["kind"] = row.kind;
  j["name"] = row.name;
  j["version"] = c.manifest ? c.manifest->version : "";
  j["abi"] = abi_text(c);
  j["state"] = state_of(row);
  j["usable"] = !c.refused && !row.clash && row.shadowed_by == nullptr;
  j["file"] = c.file.string();
  const auto probed = probes.find(row.candidate);
  if (probed == probes.end()) return j;
  const Answer answer = answer_of(row, probed->second);
  j["state"] = probed_state(row, answer);
  j["usable"] = j["usable"] && answer.failure.empty() && answer.said["score"] != 0;
  if (answer.said.contains("found")) j["devices"] = answer.said["found"];
  return j;
}

std::vector<Row> sorted_rows(const plugin::Registry& registry) {
  auto rows = registry.rows();
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return std::pair(a.kind, a.name) < std::pair(b.kind, b.name); });
  return rows;
}

std::string joined(const Json& texts) {
  std::string out;
  for (const auto& t : texts) out += (out.empty() ? "" : ", ") + t.get<std::string>();
  return out;
}

/// "cpu:0  AMD EPYC 7763 · 31.3 GiB, 20.1 free · f32 · compiler"
std::string device_line(const std::string& name, std::size_t ordinal, const Json& d) {
  constexpr double kGiB = 1 << 30;
  if (d.contains("error")) return fmt::format("{}:{}  {}", name, ordinal, d["error"].get<std::string>());
  std::string memory;
  if (d["memory_bytes"] != 0) memory = fmt::format(" · {:.1f} GiB, {:.1f} free", d["memory_bytes"].get<double>() / kGiB, d["free_bytes"].get<double>() / kGiB);
  return fmt::format("{}:{}  {}{} · {} · {}", name, ordinal, d["name"].get<std::string>(), memory, joined(d["types"]), joined(d["facets"]));
}

void print_devices(const Json& row, const std::string& indent) {
  if (!row.contains("devices")) return;
  for (std::size_t i = 0; i < row["devices"].size(); ++i) fmt::print("{}{}\n", indent, device_line(row["name"], i, row["devices"][i]));
}

void print_table(const Json& rows) {
  fmt::print("{:<8} {:<18} {:<8} {:<4} {:<30} {}\n", "kind", "name", "version", "abi", "state", "file");
  for (const Json& r : rows) {
    const auto shown = [&](const char* key) { return r[key] == "" ? "-" : r[key].get<std::string>(); };
    fmt::print("{:<8} {:<18} {:<8} {:<4} {:<30} {}\n", shown("kind"), shown("name"), shown("version"), shown("abi"), shown("state"), shown("file"));
    print_devices(r, "         ");
  }
}

int list(Environment& environment, const PluginsArguments& a) {
  const auto rows = sorted_rows(environment.registry());
  const Probes probes = a.probe ? probe_all(rows) : Probes{};
  Json all = Json::array();
  for (const Row& row : rows) all.push_back(row_json(row, probes));
  if (a.json) fmt::print("{}\n", text_of(all, 2));
  else print_table(all);
  return 0;
}

std::string file_sha256(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return sha256_hex(std::string(std::istreambuf_iterator<char>(in), {}));
}

Json options_json(const std::string& schema, const std::string& owner) {
  Json out = Json::array();
  for (const auto& rule : experiment::parse_schema(schema, owner)) {
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

void add_manifest(Json& j, const plugin::Manifest& m) {
  j["library"] = m.name;
  j["vendor"] = m.vendor;
  j["provides"] = Json::array();
  for (const auto& p : m.provides) j["provides"].push_back(fmt::format("{}:{}", plugin::name_of(p.kind), p.name));
  j["toolchain"] = m.toolchain;
  j["source"] = m.source;
  j["opset"] = m.opset;
  j["isa"] = m.isa;
  j["sanitizer"] = m.sanitizer;
  j["global_libs"] = m.global_libs;
  j["launch_env"] = m.launch_env;
}

/// Its code is only run in a child: options are the one thing that no manifest knows.
Json detail_json(const Row& row) {
  const Candidate& c = *row.candidate;
  const Probes probes = probe_all({row});
  Json j = row_json(row, probes);
  if (c.manifest) add_manifest(j, *c.manifest);
  j["build_id"] = c.elf.build_id;
  j["sha256"] = file_sha256(c.file);
  j["needed"] = Json::object();
  for (const auto& soname : c.elf.needed) j["needed"][soname] = plugin::resolve_needed(soname, c.elf, c.file);
  const Answer answer = probes.empty() ? Answer{} : answer_of(row, probes.begin()->second);
  if (!answer.said.contains("schema")) return j;
  try {
    j["options"] = options_json(answer.said["schema"], row.name);
  } catch (const Error& e) {
    j["state"] = fmt::format("wrong: {}", e.what());
    j["usable"] = false;
  }
  return j;
}

void print_detail(const Json& j) {
  for (const char* key : {"kind", "name", "version", "abi", "state", "file", "library", "vendor", "toolchain", "source", "sanitizer", "build_id", "sha256"})
    if (j.contains(key) && j[key] != "") fmt::print("{:<10} {}\n", key, j[key].get<std::string>());
  for (const char* key : {"provides", "isa", "global_libs", "launch_env"})
    if (j.contains(key) && !j[key].empty()) fmt::print("{:<10} {}\n", key, joined(j[key]));
  for (const auto& [soname, where] : j["needed"].items())
    fmt::print("{:<10} {} -> {}\n", "needs", soname, where == "" ? "not found" : where.get<std::string>());
  print_devices(j, "device     ");
  if (!j.contains("options")) return;
  fmt::print("options{}\n", j["options"].empty() ? "    none" : "");
  for (const auto& o : j["options"])
    fmt::print("  {:<16} {:<9} {:<14} {}{}\n", o["key"].get<std::string>(), o["type"].get<std::string>(),
               o["default"].is_null() ? "(required)" : "= " + o["default"].get<std::string>(), o["doc"].get<std::string>(),
               o["allowed"] == "" ? "" : " (" + o["allowed"].get<std::string>() + ")");
}

int detail(Environment& environment, const PluginsArguments& a) {
  Json all = Json::array();
  std::vector<std::string> known;
  for (const Row& row : sorted_rows(environment.registry())) {
    known.push_back(row.name);
    const bool by_library = row.candidate->manifest && row.candidate->manifest->name == a.name;
    if (row.name == a.name || by_library || row.kind + ":" + row.name == a.name) all.push_back(detail_json(row));
  }
  if (all.empty()) {
    Error e(ErrorKind::usage, fmt::format("no plugin is called '{}'", a.name), "P101");
    e.note("known", join_names(known));
    if (const auto near = nearest_name(a.name, known); !near.empty()) e.note("fix", fmt::format("did you mean '{}'?", near));
    throw e;
  }
  if (a.json) return fmt::print("{}\n", text_of(all, 2)), 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) fmt::print("\n");
    print_detail(all[i]);
  }
  return 0;
}

}  // namespace

int plugins_command(const std::vector<std::string>& args) {
  const PluginsArguments a = parse_plugins_arguments(args);
  if (a.help) return 0;
  Environment environment(a.plugin_dirs, record::LogLevel::warning);
  if (!a.probe_one.empty()) return probe_one(environment, a.probe_one);
  if (!a.check.empty()) return check_plugin(environment, a.check);
  return a.name.empty() ? list(environment, a) : detail(environment, a);
}

}  // namespace convoy::runner
