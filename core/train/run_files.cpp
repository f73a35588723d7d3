#include "train/run_files.hpp"

#include "record/manifest.hpp"

#include <fmt/format.h>

namespace convoy::train {

namespace {

record::PluginIdentity identity(const plugin::Used& used) {
  const plugin::Manifest& m = *used.candidate->manifest;
  std::string provides;
  for (const auto& p : m.provides) provides += fmt::format("{}{}:{}", provides.empty() ? "" : ";", plugin::name_of(p.kind), p.name);
  return {provides, m.name, m.version, used.candidate->elf.build_id, used.sha256, used.candidate->file.string()};
}

}  // namespace

void write_run_manifest(const RunContext& context, const experiment::Experiment& e, const std::string& resolved, uint32_t threads) {
  record::Manifest m;
  m.convoy_version = context.version;
  m.seed = static_cast<uint64_t>(e.run.seed);
  m.argv = context.argv;
  m.started = context.started;
  m.experiment = resolved;
  for (const auto& used : context.registry->used()) m.plugins.push_back(identity(used));
  m.more.add("threads", static_cast<int64_t>(threads));
  record::write_manifest(context.directory.manifest(), m);
}

}  // namespace convoy::train
