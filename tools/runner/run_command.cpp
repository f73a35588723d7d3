#include "runner/run_command.hpp"

#include "experiment/toml_reader.hpp"
#include "record/run_directory.hpp"
#include "runner/arguments.hpp"
#include "runner/environment.hpp"
#include "runner/progress.hpp"
#include "runner/signals.hpp"
#include "runner/version.hpp"
#include "train/experiment_run.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <ctime>
#include <filesystem>

namespace convoy::runner {

namespace {

namespace fs = std::filesystem;

struct Loaded {
  experiment::Experiment experiment;
  std::string notice;
};

Loaded load(const RunArguments& a, Environment& environment) {
  auto config = experiment::read_toml_file(a.experiment);
  for (const auto& s : a.set) experiment::apply_override(config, s);
  if (a.allow_experiment_plugins) environment.registry().allow_experiment_plugins(fs::absolute(a.experiment).parent_path());
  RegistrySchemas schemas(environment);
  auto e = experiment::make_experiment(config, fs::path(a.experiment).stem().string(), schemas);
  return {std::move(e), schemas.auto_notice()};
}

void print_closing_table(const record::Summary& s, const record::RunDirectory& directory) {
  const auto row = [](const char* what, const std::optional<double>& v, double scale, const char* unit) {
    if (v) fmt::print("  {:<18} {:.4g}{}\n", what, *v * scale, unit);
  };
  fmt::print("\n{}\n", s.status);
  row("train loss", s.train_loss, 1, "");
  row("held-out loss", s.loss, 1, "");
  row("held-out top-1", s.top1, 100, " %");
  row("held-out top-5", s.top5, 100, " %");
  row("images/s", s.images_per_second, 1, "");
  row("wall time", s.wall_s, 1, " s");
  fmt::print("  {:<18} {}\n", "results in", directory.root().string());
}

}  // namespace

int run_command(const std::vector<std::string>& args, const std::vector<std::string>& argv) {
  const RunArguments a = parse_run_arguments(args, "run");
  if (a.help) return 0;
  const std::time_t started = std::time(nullptr);
  Environment environment(a.plugin_dirs, a.verbose ? record::LogLevel::debug : record::LogLevel::warning);
  const Loaded loaded = load(a, environment);
  const auto directory = record::RunDirectory::create(a.out, loaded.experiment.run.name, started);
  environment.log().open_file(directory.log());
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  Progress progress(stdout, terminal);
  if (!loaded.notice.empty()) progress.on_notice(loaded.notice);

  train::RunContext context;
  context.registry = &environment.registry();
  context.host = &environment.host();
  context.log = &environment.log();
  context.observer = &progress;
  context.stop = &stop_on_signals();
  context.directory = directory;
  context.version = kVersion;
  context.argv = argv;
  context.started = started;
  const record::Summary summary = train::run_experiment(loaded.experiment, context);
  print_closing_table(summary, directory);
  return summary.exit_code;
}

int validate_command(const std::vector<std::string>& args) {
  const RunArguments a = parse_run_arguments(args, "validate");
  if (a.help) return 0;
  Environment environment(a.plugin_dirs, record::LogLevel::warning);
  const Loaded loaded = load(a, environment);
  fmt::print("{}", experiment::to_toml(loaded.experiment));
  return 0;
}

}  // namespace convoy::runner
