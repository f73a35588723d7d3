#include "train/trainer.hpp"

#include "error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace convoy::train {

namespace {

constexpr std::size_t kStepTimesKept = 1 << 14;
constexpr uint64_t kWarmUpSteps = 2;  // their times hold first touches of memory, not steps

/// Sums since the last report or the last epoch.
struct Totals {
  uint64_t steps = 0;
  uint64_t samples = 0;
  double loss = 0;
  uint64_t top1 = 0;
  uint64_t top5 = 0;
  double busy_ms = 0;
  double data_wait_ms = 0;

  void add(const StepResult& r, double ms) {
    ++steps;
    samples += r.counted;
    loss += static_cast<double>(r.loss) * static_cast<double>(r.counted);
    top1 += static_cast<uint64_t>(r.top1);
    top5 += static_cast<uint64_t>(r.top5);
    busy_ms += ms;
  }
  double mean_loss() const { return loss / static_cast<double>(std::max<uint64_t>(1, samples)); }
  double share(uint64_t hits) const {
    return static_cast<double>(hits) / static_cast<double>(std::max<uint64_t>(1, samples));
  }
};

class Loop {
 public:
  Loop(const TrainParts& parts, const TrainOptions& options, const std::atomic<bool>& stop)
      : parts_(parts),
        options_(options),
        stop_(stop),
        pipeline_(*parts.device, *parts.train.program, *parts.train.graph, false, options.timeout_ms),
        times_(kStepTimesKept) {}

  TrainOutcome run();

 private:
  void run_epoch(uint64_t end_step);
  void submit_next();
  void finish_one();
  void drain();
  void report_step(const StepResult& last);
  void end_epoch(uint64_t epoch);
  void evaluate_now(double epoch);
  double epoch_of(uint64_t steps) const { return static_cast<double>(steps) / parts_.sampler->steps_per_epoch(); }
  std::unique_ptr<BatchFeed> make_feed();

  const TrainParts& parts_;
  const TrainOptions& options_;
  const std::atomic<bool>& stop_;
  std::unique_ptr<BatchFeed> feed_;  // before the pipeline, which may still read its memory
  StepPipeline pipeline_;
  record::StepTimes times_;
  record::Stopwatch lap_;
  Totals report_;
  Totals epoch_;
  uint64_t next_step_ = 0;
  uint64_t finished_ = 0;
  TrainOutcome outcome_;
};

std::unique_ptr<BatchFeed> Loop::make_feed() {
  FeedOptions o;
  o.split = Split::train;
  o.augment = options_.augment;
  o.seed = options_.seed;
  o.batch = options_.batch;
  o.end_step = options_.resident ? 1 : options_.steps;
  o.readers = options_.readers;
  const auto pick = [this](uint64_t step, std::vector<SampleRef>& out) {
    parts_.sampler->batch(step, options_.rank, out);
  };
  return std::make_unique<BatchFeed>(*parts_.device, *parts_.data, pick, o);
}

void Loop::submit_next() {
  const Batch* batch = nullptr;
  if (!options_.resident || next_step_ == 0) {
    record::Stopwatch wait;
    batch = &feed_->take();
    report_.data_wait_ms += wait.elapsed_ms();
  }
  StepScalars scalars;
  scalars.lr = static_cast<float>(learning_rate(parts_.schedule, next_step_));
  scalars.rng = {static_cast<int64_t>(options_.seed), static_cast<int64_t>(next_step_),
                 static_cast<int64_t>(options_.rank * options_.batch), 0};
  pipeline_.submit(next_step_, batch, options_.batch, scalars);
  ++next_step_;
}

void Loop::finish_one() {
  const StepResult r = pipeline_.finish();
  const double ms = lap_.lap_ms();
  feed_->give_back(r.step);
  if (!std::isfinite(r.loss))
    throw Error(ErrorKind::numerics, fmt::format("the loss of step {} is not finite ({}) at learning rate {:g}", r.step,
                                                 r.loss, learning_rate(parts_.schedule, r.step)))
        .note("fix", "a smaller optimizer.lr, or schedule.warmup_epochs");
  ++finished_;
  if (r.step >= kWarmUpSteps) times_.add(ms);
  report_.add(r, ms);
  epoch_.add(r, ms);
  if (finished_ % options_.log_every == 0 || finished_ == options_.steps) report_step(r);
}

void Loop::drain() {
  while (!pipeline_.empty()) finish_one();
}

void Loop::report_step(const StepResult& last) {
  StepReport out;
  out.step = finished_;
  out.total_steps = options_.steps;
  out.epoch = epoch_of(finished_);
  out.loss = report_.mean_loss();
  out.top1 = report_.share(report_.top1);
  out.lr = learning_rate(parts_.schedule, last.step);
  out.step_ms = report_.busy_ms / static_cast<double>(report_.steps);
  out.images_per_second = static_cast<double>(report_.samples) / (report_.busy_ms / 1e3);
  out.data_wait_share = std::min(1.0, report_.data_wait_ms / report_.busy_ms);
  report_ = {};
  parts_.observer->on_step(out);
}

void Loop::evaluate_now(double epoch) {
  EvaluationReport r = evaluate(*parts_.device, *parts_.eval.program, *parts_.eval.graph, *parts_.data,
                                parts_.evaluation, {}, stop_);
  if (r.samples < parts_.evaluation.samples) {  // half an evaluation is no result
    outcome_.stopped = true;
    return;
  }
  r.epoch = epoch;
  r.step = finished_;
  outcome_.evaluation = r;
  outcome_.best_top1 = std::max(outcome_.best_top1.value_or(0), r.top1);
  parts_.observer->on_evaluation(r);
}

void Loop::end_epoch(uint64_t epoch) {
  const bool last = finished_ == options_.steps || stop_;
  EpochReport report;
  report.epoch = epoch_of(finished_);
  report.step = finished_;
  report.train_loss = epoch_.mean_loss();
  report.train_top1 = epoch_.share(epoch_.top1);
  report.train_top5 = epoch_.share(epoch_.top5);
  report.seconds = epoch_.busy_ms / 1e3;
  if (epoch_.steps > 0) {
    outcome_.train_loss = report.train_loss;
    parts_.observer->on_epoch(report);
  }
  epoch_ = {};
  const auto due = [&](uint64_t every) { return every > 0 && epoch % every == 0; };
  if (!last && due(options_.save_every_epochs) && parts_.save) parts_.save(epoch);  // first: an evaluation may fail
  if (parts_.eval.program == nullptr || !(last || due(options_.evaluate_every_epochs))) return;
  if (stop_)
    outcome_.stopped = true;
  else
    evaluate_now(report.epoch);
}

void Loop::run_epoch(uint64_t end_step) {
  lap_.restart();
  while (next_step_ < end_step && !stop_) {
    if (pipeline_.full()) finish_one();
    submit_next();
  }
  drain();
}

TrainOutcome Loop::run() {
  parts_.train.program->refresh(pipeline_.stream());
  feed_ = make_feed();
  for (uint64_t epoch = 1; finished_ < options_.steps && !stop_; ++epoch) {
    const uint64_t end = std::min(options_.steps, parts_.sampler->steps_for(epoch));
    if (end == finished_) continue;  // an epoch shorter than a batch
    run_epoch(end);
    end_epoch(epoch);
  }
  outcome_.stopped = outcome_.stopped || finished_ < options_.steps;
  outcome_.steps = finished_;
  outcome_.epochs = epoch_of(finished_);
  outcome_.step_ms = times_.distribution();
  if (outcome_.step_ms.count > 0)
    outcome_.images_per_second = static_cast<double>(options_.batch) / (outcome_.step_ms.p50 / 1e3);
  return outcome_;
}

}  // namespace

TrainOutcome train(const TrainParts& parts, const TrainOptions& options, const std::atomic<bool>& stop) {
  return Loop(parts, options, stop).run();
}

}  // namespace convoy::train
