#include "runner/run_command.hpp"

#include "experiment/sweep.hpp"
#include "experiment/toml_reader.hpp"
#include "experiment/toml_text.hpp"
#include "record/rate_table.hpp"
#include "record/run_directory.hpp"
#include "runner/arguments.hpp"
#include "runner/environment.hpp"
#include "runner/output.hpp"
#include "runner/progress.hpp"
#include "runner/signals.hpp"
#include "runner/version.hpp"
#include "train/sweep_run.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace convoy::runner {

namespace {

namespace fs = std::filesystem;

struct Loaded {
  std::vector<train::SweepItem> items;
  std::string resolved;  // the text of resolved.toml
  std::string notice;
  bool plain() const { return items.size() == 1 && items[0].label.empty(); }
  const experiment::Experiment& first() const { return items[0].experiment; }
};

/// What a run is called that does not say: as its file, where that is a name.
std::string default_name(const std::string& file) {
  const std::string stem = fs::path(file).stem().string();
  return stem.empty() || !experiment::is_plain_text(stem) ? "run" : stem;
}

Loaded load(const RunArguments& a, Environment& environment) {
  environment.warn_of_refused();
  auto config = experiment::read_toml_file(a.experiment);
  for (const auto& s : a.set) experiment::apply_override(config, s);
  for (const auto& s : a.sweep) experiment::apply_sweep(config, s);
  if (a.allow_experiment_plugins) environment.registry().allow_experiment_plugins(fs::absolute(a.experiment).parent_path());
  RegistrySchemas schemas(environment);
  Loaded out;
  const experiment::Sweep sweep(config);
  for (std::size_t i = 0; i < sweep.size(); ++i) {
    const auto point = sweep.point(i);
    out.items.push_back({point.label, experiment::make_experiment(point.config, default_name(a.experiment), schemas)});
  }
  out.resolved = experiment::to_toml(out.first());
  if (!out.plain()) out.resolved = experiment::resolved_sweep(config, out.resolved);
  out.notice = schemas.auto_notice();
  return out;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The newest run directory of the same sweep below `out`, empty where there is none.
fs::path newest_of(const fs::path& out, const std::string& resolved) {
  fs::path newest;
  std::error_code ec;
  for (const auto& entry : fs::directory_iterator(out, ec))
    if (text_of(entry.path() / "resolved.toml") == resolved && (newest.empty() || fs::last_write_time(entry.path() / "resolved.toml") > fs::last_write_time(newest / "resolved.toml")))
      newest = entry.path();
  return newest;
}

record::RunDirectory directory_for(const RunArguments& a, const Loaded& loaded, std::time_t started) {
  if (!a.resume.empty() && loaded.plain() && loaded.first().run.mode != experiment::Mode::benchmark)
    throw Error(ErrorKind::usage, "--resume: checkpoints with optimiser state are not in this version; weights are saved after each epoch")
        .note("fix", "--set model.weights=runs/NAME/checkpoints/epoch-0003.safetensors starts from them");
  if (!a.resume.empty() && a.resume != "auto") {
    if (!fs::exists(fs::path(a.resume) / "resolved.toml")) throw Error(ErrorKind::usage, fmt::format("--resume {}: no run directory, it holds no resolved.toml", a.resume));
    return record::RunDirectory(a.resume);
  }
  const fs::path newest = a.resume.empty() ? fs::path() : newest_of(a.out, loaded.resolved);
  return newest.empty() ? record::RunDirectory::create(a.out, loaded.first().run.name, started) : record::RunDirectory(newest);
}

/// A run's own words. Not by fmt::print, which throws where they cannot be written: the results are on disk by now.
template <class... T>
void show(fmt::format_string<T...> text, T&&... values) {
  std::fputs(fmt::format(text, std::forward<T>(values)...).c_str(), stdout);
}

int run_sweep(const Loaded& loaded, const train::RunContext& context) {
  const auto outcome = train::run_sweep(loaded.items, loaded.resolved, context);
  show("\n{}\n  {:<18} {}\n", record::rate_table(outcome.rows, loaded.first().report.currency), "results in", context.directory.results().string());
  return outcome.exit_code;
}

void print_closing_table(const record::Summary& s, const record::RunDirectory& directory) {
  const auto row = [](const char* what, const std::optional<double>& v, double scale, const char* unit) {
    if (v) show("  {:<18} {:.4g}{}\n", what, *v * scale, unit);
  };
  show("\n{}\n", s.status);
  row("train loss", s.train_loss, 1, "");
  row("held-out loss", s.loss, 1, "");
  row("held-out top-1", s.top1, 100, " %");
  row("held-out top-5", s.top5, 100, " %");
  row("images/s", s.images_per_second, 1, "");
  row("wall time", s.wall_s, 1, " s");
  show("  {:<18} {}\n", "results in", directory.root().string());
}

}  // namespace

int run_command(const std::vector<std::string>& args, const std::vector<std::string>& argv) {
  const RunArguments a = parse_run_arguments(args, "run");
  if (a.help) return printed(0);
  const std::time_t started = std::time(nullptr);
  Environment environment(a.plugin_dirs, a.verbose ? record::LogLevel::debug : record::LogLevel::warning);
  const Loaded loaded = load(a, environment);
  const auto& stop = stop_on_signals();  // before there is a folder that a signal could leave without a summary
  const auto directory = directory_for(a, loaded, started);
  environment.keep_log_in(directory.log());
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  Progress progress(stdout, terminal);
  if (!loaded.notice.empty()) progress.on_notice(loaded.notice);

  train::RunContext context;
  context.registry = &environment.registry();
  context.host = &environment.host();
  context.log = &environment.log();
  context.observer = &progress;
  context.stop = &stop;
  context.directory = directory;
  context.version = kVersion;
  context.argv = argv;
  context.started = started;
  context.oracle = kOracle;
  if (!loaded.plain() || loaded.first().run.mode == experiment::Mode::benchmark) return run_sweep(loaded, context);
  const record::Summary summary = train::run_experiment(loaded.first(), context);
  print_closing_table(summary, directory);
  return summary.exit_code;
}

int validate_command(const std::vector<std::string>& args) {
  const RunArguments a = parse_run_arguments(args, "validate");
  if (a.help) return 0;
  Environment environment(a.plugin_dirs, record::LogLevel::warning);
  const Loaded loaded = load(a, environment);
  fmt::print("{}", loaded.resolved);
  return 0;
}

}  // namespace convoy::runner
