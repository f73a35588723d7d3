#include "train/run_files.hpp"

#include "record/machine.hpp"
#include "record/manifest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

namespace convoy::train {

namespace {

record::PluginIdentity identity(const plugin::Used& used) {
  const plugin::Manifest& m = *used.candidate->manifest;
  std::string provides;
  for (const auto& p : m.provides) provides += fmt::format("{}{}:{}", provides.empty() ? "" : ";", plugin::name_of(p.kind), p.name);
  return {provides, m.name, m.version, used.candidate->elf.build_id, used.sha256, used.candidate->file.string()};
}

/// Prefixes of variables that change what a run does: Convoy's, OpenMP's and the loader's, and those named after what a
/// used plugin provides, as a device's vendor names them.
std::vector<std::string> telling_prefixes(const std::vector<plugin::Used>& used) {
  std::vector<std::string> out = {"CONVOY_", "OMP_", "GOMP_", "LD_"};
  for (const auto& u : used)
    for (const auto& p : u.candidate->manifest->provides) {
      std::string name = p.name + "_";
      std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      out.push_back(name);
    }
  return out;
}

}  // namespace

void write_run_manifest(const RunContext& context, const experiment::Experiment& e, const std::string& resolved, uint32_t threads) {
  record::Manifest m;
  m.convoy_version = context.version;
  m.source = CONVOY_DESCRIBED_SOURCE;
  m.seed = static_cast<uint64_t>(e.run.seed);
  m.argv = context.argv;
  m.started = context.started;
  m.experiment = resolved;
  for (const auto& used : context.registry->used()) m.plugins.push_back(identity(used));
  m.environment = record::environment_with(telling_prefixes(context.registry->used()));
  m.more.add("threads", static_cast<int64_t>(threads));
  record::write_manifest(context.directory.manifest(), m);
}

}  // namespace convoy::train
