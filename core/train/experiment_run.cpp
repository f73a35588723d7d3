#include "train/experiment_run.hpp"

#include "error.hpp"
#include "experiment/variant.hpp"
#include "record/atomic_file.hpp"
#include "record/csv.hpp"
#include "record/ndjson.hpp"
#include "record/result_row.hpp"
#include "record/statistics.hpp"
#include "train/benchmark.hpp"
#include "train/predictions.hpp"
#include "train/replica.hpp"
#include "train/run_files.hpp"
#include "train/run_recorder.hpp"
#include "train/skipped_samples.hpp"
#include "train/weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <thread>

namespace convoy::train {

namespace {

using experiment::Experiment;
using experiment::Mode;

constexpr double kReportsPerEpoch = 10;  // metrics lines, where the experiment names no interval
constexpr uint32_t kMostReaders = 8;

uint32_t reader_threads(const Experiment& e) {
  if (e.data.workers > 0) return static_cast<uint32_t>(e.data.workers);
  return std::clamp(std::thread::hardware_concurrency() / 4, 1u, kMostReaders);
}

/// One run in progress.
class Run {
 public:
  Run(const Experiment& e, const RunContext& context, record::ResultRow* row) : e_(e), context_(context), row_(row), summary_{} {}

  record::Summary go() {
    record::Stopwatch watch;
    try {
      prepare();
      if (e_.run.mode == Mode::train)
        run_training();
      else
        run_evaluation();
    } catch (const Error& error) {
      fail(error.what(), error.exit_code(), watch.elapsed_s());
      throw;
    } catch (const std::exception& error) {
      fail(error.what(), static_cast<int>(ErrorKind::bug), watch.elapsed_s());
      throw;
    }
    finish(watch.elapsed_s());
    return summary_;
  }

 private:
  /// Leaves what is known in the run directory. An error of its own does not hide the one that ended the run.
  void fail(const std::string& why, int exit_code, double wall_s) noexcept {
    try {
      context_.log->error("run", why);
      summary_.status = "failed";
      summary_.exit_code = exit_code;
      summary_.more.add("error", why);
      if (replica_ && !row_written_) {
        record::ResultRow row = common_row(e_.run.mode == Mode::train ? "train" : "evaluate");
        row.status = record::RowStatus::error;
        write_row(row);
      }
      finish(wall_s);
    } catch (const std::exception& second) {
      context_.observer->on_notice(fmt::format("the results of this failed run are not whole: {}", second.what()));
    }
  }

  void notice(const std::string& text) {
    context_.log->info("run", text);
    context_.observer->on_notice(text);
  }

  void prepare() {
    const std::string resolved = experiment::to_toml(e_);
    record::write_atomic(context_.directory.resolved_toml(), resolved);
    skipped_.emplace(*context_.host, *context_.log, context_.directory.skipped());
    replica_.emplace(e_, *context_.registry, *context_.host);
    write_run_manifest(context_, e_, resolved, replica_->threads());
    for (const Runnable& r : {replica_->train(), replica_->eval()})
      if (r.program != nullptr) notice(r.program->coverage_line());
  }

  EvaluationOptions evaluation_options() const {
    EvaluationOptions o;
    o.samples = replica_->eval_samples();
    o.batch = replica_->spec().batch;
    o.seed = static_cast<uint64_t>(e_.run.seed);
    o.readers = reader_threads(e_);
    return o;
  }

  Sampler make_sampler() const {
    const auto remainder = e_.data.remainder == "drop" ? Remainder::drop : Remainder::roll_over;
    return Sampler(replica_->train_samples(), replica_->spec().batch, 1, static_cast<uint64_t>(e_.run.seed), e_.data.shuffle, remainder);
  }

  TrainOptions train_options(const Sampler& sampler) const {
    TrainOptions o;
    o.steps = static_cast<uint64_t>(e_.run.steps);
    if (e_.run.epochs > 0) o.steps = sampler.steps_for(static_cast<uint64_t>(e_.run.epochs));
    if (o.steps == 0)
      throw Error(ErrorKind::usage, fmt::format("{} epochs of {} samples do not fill one batch of {}", e_.run.epochs, replica_->train_samples(), sampler.global_batch()))
          .note("fix", "a smaller data.batch, or more epochs");
    o.log_every = static_cast<uint64_t>(e_.run.log_every);
    if (o.log_every == 0) o.log_every = std::max<uint64_t>(1, static_cast<uint64_t>(sampler.steps_per_epoch() / kReportsPerEpoch));
    o.evaluate_every_epochs = static_cast<uint64_t>(e_.run.evaluate_every_epochs);
    o.save_every_epochs = static_cast<uint64_t>(e_.checkpoint.every_epochs);
    o.seed = static_cast<uint64_t>(e_.run.seed);
    o.batch = replica_->spec().batch;
    o.augment = e_.data.augment;
    if (e_.data.residency == "device" && replica_->data().info.any_batch == 0)
      throw Error(ErrorKind::usage, fmt::format("data.residency = \"device\" keeps one batch for the whole run; '{}' has samples to learn from", replica_->data().name))
          .note("fix", "data.residency = \"auto\", or data.use = \"synthetic\"");
    o.resident = e_.data.residency == "device" || (e_.data.residency == "auto" && replica_->data().info.any_batch != 0);
    o.readers = reader_threads(e_);
    return o;
  }

  ScheduleOptions schedule_options(const Sampler& sampler, uint64_t steps) const {
    const auto& s = e_.schedule;
    const double per_epoch = sampler.steps_per_epoch();
    ScheduleOptions o;
    o.base_lr = e_.optimizer.lr;
    o.warmup_steps = s.warmup_epochs * per_epoch + static_cast<double>(s.warmup_steps);
    o.warmup_start = s.warmup_start;
    o.gamma = s.gamma;
    o.final_lr = s.final_lr;
    o.total_steps = static_cast<double>(steps);
    if (s.use == "cosine") o.kind = ScheduleOptions::Kind::cosine;
    if (s.use == "step") o.kind = ScheduleOptions::Kind::step;
    for (double m : s.milestones) o.milestones.push_back(m * per_epoch);
    o.every_steps = s.every_epochs * per_epoch;
    return o;
  }

  void say_plan(const Sampler& sampler, const TrainOptions& o) {
    notice(fmt::format("{} samples, batch {}, {:.4g} steps an epoch, {} steps; learning rate {:g} ({}); {} held-out samples", replica_->train_samples(),
                       sampler.global_batch(), sampler.steps_per_epoch(), o.steps, e_.optimizer.lr, e_.schedule.use, replica_->eval_samples()));
    if (o.resident) notice("one batch, kept on the device (data.residency)");
    if (sampler.dropped_per_epoch() > 0)
      notice(fmt::format("{} samples of every epoch are dropped (data.remainder = \"drop\")", sampler.dropped_per_epoch()));
    else if (e_.run.epochs > 0 && sampler.left_over(static_cast<uint64_t>(e_.run.epochs)) > 0)
      notice(fmt::format("the last {} samples of the last epoch do not fill a batch and are not used", sampler.left_over(static_cast<uint64_t>(e_.run.epochs))));
  }

  void run_training() {
    Sampler sampler = make_sampler();
    const TrainOptions options = train_options(sampler);
    say_plan(sampler, options);
    record::NdjsonWriter metrics(context_.directory.metrics());
    RunRecorder recorder(metrics, *context_.observer);
    TrainParts parts;
    parts.device = &replica_->device();
    parts.train = replica_->train();
    parts.eval = replica_->eval();
    parts.data = &replica_->data();
    parts.sampler = &sampler;
    parts.schedule = schedule_options(sampler, options.steps);
    parts.evaluation = evaluation_options();
    parts.observer = &recorder;
    parts.save = [this](uint64_t epoch) { save_epoch(epoch); };
    const TrainOutcome outcome = train::train(parts, options, *context_.stop);
    summarise(outcome);
    metrics.sync();
    write_row(training_row(outcome));
    save(weights_path());
    if (e_.run.predictions && !outcome.stopped && predict().samples < replica_->eval_samples()) stopped();
  }

  void run_evaluation() {
    record::NdjsonWriter metrics(context_.directory.metrics());
    RunRecorder recorder(metrics, *context_.observer);
    const EvaluationReport r = e_.run.predictions ? predict() : evaluate_plain();
    if (r.samples < replica_->eval_samples()) {
      stopped();
    } else {
      summary_.status = "done";
      recorder.on_evaluation(r);
      add_evaluation(r);
      summary_.images_per_second = static_cast<double>(r.samples) / r.seconds;
    }
    summary_.more.add("samples", static_cast<int64_t>(r.samples));
    record::ResultRow row = common_row("evaluate");
    row.images_per_second = summary_.images_per_second;
    write_row(row);
  }

  EvaluationReport evaluate_plain() {
    const Runnable eval = replica_->eval();
    return evaluate(replica_->device(), *eval.program, *eval.graph, replica_->data(), evaluation_options(), {}, *context_.stop);
  }

  EvaluationReport predict() {
    const Runnable eval = replica_->eval();
    if (eval.program == nullptr) throw Error(ErrorKind::usage, "run.predictions = true, but there are no held-out samples");
    Predictions predictions(context_.directory.predictions(), replica_->data(), replica_->spec().classes);
    const auto take = [&](uint64_t sample, int32_t label, std::span<const float> logits) { predictions.add(sample, label, logits); };
    const auto report = evaluate(replica_->device(), *eval.program, *eval.graph, replica_->data(), evaluation_options(), take, *context_.stop);
    if (report.samples < replica_->eval_samples())
      predictions.discard();
    else
      predictions.finish();
    return report;
  }

  std::filesystem::path weights_path() const { return context_.directory.root() / "weights.safetensors"; }

  void save(const std::filesystem::path& path) {
    exec::DeviceStream stream(replica_->device());
    save_weights(path.string(), replica_->weights_program(), stream.get(),
                 {{"model", e_.model.use}, {"options", experiment::options_text(e_.model.options)}, {"convoy", context_.version}});
  }

  void save_epoch(uint64_t epoch) {
    const auto path = [&](uint64_t n) { return context_.directory.checkpoints() / fmt::format("epoch-{:04}.safetensors", n); };
    save(path(epoch));
    saved_.push_back(path(epoch));
    // The new one is durable: now an old one may go.
    while (e_.checkpoint.keep_last > 0 && saved_.size() > static_cast<std::size_t>(e_.checkpoint.keep_last)) {
      std::error_code ec;
      std::filesystem::remove(saved_.front(), ec);
      saved_.erase(saved_.begin());
    }
  }

  void add_evaluation(const EvaluationReport& r) {
    summary_.loss = r.loss;
    summary_.top1 = r.top1;
    summary_.top5 = r.top5;
  }

  void stopped() {
    summary_.status = "stopped";
    summary_.exit_code = kStoppedExitCode;
  }

  void summarise(const TrainOutcome& o) {
    summary_.status = "done";
    if (o.stopped) stopped();
    summary_.steps = static_cast<int64_t>(o.steps);
    summary_.epochs = o.epochs;
    summary_.train_loss = o.train_loss;
    summary_.best_top1 = o.best_top1;
    if (o.evaluation) add_evaluation(*o.evaluation);
    if (o.images_per_second > 0) summary_.images_per_second = o.images_per_second;
  }

  record::ResultRow common_row(const std::string& mode) const {
    record::ResultRow row = empty_row(e_, mode, replica_->device().info().name);
    row.status = record::RowStatus::ok;
    row.peak_device_bytes = static_cast<int64_t>(replica_->device_bytes());
    return row;
  }

  record::ResultRow training_row(const TrainOutcome& o) const {
    record::ResultRow row = common_row("train");
    add_rate(row, e_, o.step_ms);
    return row;
  }

  void write_row(const record::ResultRow& row) {
    record::CsvWriter csv(context_.directory.results(), record::kResultHeader);
    csv.append(record::to_fields(row));
    csv.sync();
    row_written_ = true;
    if (row_ != nullptr) *row_ = row;
  }

  void finish(double wall_s) {
    summary_.wall_s = wall_s;
    if (skipped_ && skipped_->count() > 0) {
      summary_.more.add("skipped_samples", static_cast<int64_t>(skipped_->count()));
      notice(fmt::format("{} samples could not be read and were left out: {}", skipped_->count(), context_.directory.skipped().string()));
    }
    record::write_summary(context_.directory.summary(), summary_);
  }

  const Experiment& e_;
  const RunContext& context_;
  record::ResultRow* row_;
  record::Summary summary_;
  bool row_written_ = false;
  std::optional<SkippedSamples> skipped_;  // before the replica, whose dataset writes to it
  std::optional<Replica> replica_;
  std::vector<std::filesystem::path> saved_;
};

}  // namespace

record::Summary run_experiment(const Experiment& e, const RunContext& context, record::ResultRow* row) { return Run(e, context, row).go(); }

}  // namespace convoy::train
