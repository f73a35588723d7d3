#include "train/benchmark.hpp"

#include "error.hpp"
#include "experiment/variant.hpp"
#include "ir/cost.hpp"
#include "record/statistics.hpp"
#include "train/fixed_batch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

namespace convoy::train {

namespace {

using experiment::Experiment;

constexpr uint64_t kFewestSteps = 3;  // of a repeat that its time limit ends
constexpr uint32_t kTimeoutMs = 600'000;
constexpr double kTrainingWork = 3;   // of the forward pass: gradients of inputs and of parameters cost as much each

std::optional<double> price_of(const experiment::ReportOptions& r, const std::string& device_name) {
  for (const std::string& key : {device_name, std::string()})
    if (const auto found = r.price_per_minute.find(key); found != r.price_per_minute.end()) return found->second;
  return std::nullopt;
}

/// Feeds a pipeline as data.residency says, and times the ends of steps.
class Measurement {
 public:
  Measurement(const Experiment& e, Replica& replica)
      : e_(e),
        train_(e.benchmark->pass == "train"),
        batch_(replica.spec().batch),
        feed_(replica.device(), replica.data(), in_order(batch_, train_ ? replica.train_samples() : replica.eval_samples()), feed_options()),
        pipeline_(replica.device(), *run(replica).program, *run(replica).graph, false, kTimeoutMs) {
    run(replica).program->refresh(pipeline_.stream());
  }

  std::vector<double> steps(const std::atomic<bool>& stop) {
    pass_over(static_cast<uint64_t>(e_.benchmark->warmup_steps), 1, stop);
    auto times = pass_over(static_cast<uint64_t>(e_.benchmark->steps), kFewestSteps, stop);
    while (!pipeline_.empty()) finish();
    return times;
  }

 private:
  Runnable run(const Replica& replica) const { return train_ ? replica.train() : replica.eval(); }
  bool real() const { return e_.data.residency == "real"; }

  FeedOptions feed_options() const {
    FeedOptions o;
    o.split = train_ ? Split::train : Split::eval;
    o.augment = train_ && e_.data.augment;
    o.seed = static_cast<uint64_t>(e_.run.seed);
    o.batch = batch_;
    o.end_step = real() ? std::numeric_limits<uint64_t>::max() : 1;
    o.readers = e_.data.workers > 0 ? static_cast<uint32_t>(e_.data.workers) : 1;
    return o;
  }

  /// `most` steps, or as many as fit into the time limit, but then at least `fewest` of them.
  std::vector<double> pass_over(uint64_t most, uint64_t fewest, const std::atomic<bool>& stop) {
    std::vector<double> times;
    times.reserve(most);
    record::Stopwatch watch;
    const double limit = e_.benchmark->seconds;
    while (times.size() < most && !stop && !(limit > 0 && watch.elapsed_s() >= limit && times.size() >= fewest)) {
      while (!pipeline_.full()) submit();
      finish();
      times.push_back(lap_.lap_ms());
    }
    return times;
  }

  void submit() {
    const bool copies = real() || e_.data.residency == "host" || next_ == 0;
    if (real() || next_ == 0) data_ = &feed_.take();
    StepScalars scalars;
    scalars.lr = static_cast<float>(e_.optimizer.lr);
    scalars.rng = {e_.run.seed, static_cast<int64_t>(next_), 0, 0};
    pipeline_.submit(next_, copies ? data_ : nullptr, batch_, scalars);
    if (next_++ == 0) lap_.restart();
  }

  void finish() {
    const StepResult r = pipeline_.finish();
    if (real()) feed_.give_back(r.step);
    if (!std::isfinite(r.loss)) throw Error(ErrorKind::numerics, fmt::format("the loss of step {} is not finite ({})", r.step, r.loss)).note("fix", "a smaller optimizer.lr");
  }

  const Experiment& e_;
  bool train_;
  uint64_t batch_;
  BatchFeed feed_;  // before the pipeline, which may still read its memory
  StepPipeline pipeline_;
  const Batch* data_ = nullptr;
  record::Stopwatch lap_;
  uint64_t next_ = 0;
};

}  // namespace

std::vector<double> measure_steps(const Experiment& e, Replica& replica, const std::atomic<bool>& stop) { return Measurement(e, replica).steps(stop); }

record::ResultRow empty_row(const Experiment& e, const std::string& mode, const std::string& device_name) {
  record::ResultRow row;
  row.model = e.model.use;
  row.variant = experiment::variant_text(e.model);
  row.mode = mode;
  row.device = e.device.use;
  row.device_name = device_name;
  row.precision = e.device.precision;
  row.batch_per_replica = e.data.batch;
  row.replicas = e.device.count;
  if (e.run.mode == experiment::Mode::benchmark) row.residency = e.data.residency == "auto" ? "device" : e.data.residency;
  return row;
}

void add_rate(record::ResultRow& row, const Experiment& e, std::span<const double> step_ms) {
  record::StepTimes times(std::max<std::size_t>(1, step_ms.size()));
  for (const double ms : step_ms) times.add(ms);
  add_rate(row, e, times.distribution());
}

void add_rate(record::ResultRow& row, const Experiment& e, const record::Distribution& step_ms) {
  if (step_ms.count == 0) return;
  const double batch = static_cast<double>(e.data.batch * e.device.count);
  row.images_per_second = batch / (step_ms.p50 / 1e3);
  row.images_per_second_p10 = batch / (step_ms.p90 / 1e3);
  row.images_per_second_p90 = batch / (step_ms.p10 / 1e3);
  row.step_ms = step_ms.p50;
  row.step_ms_p99 = step_ms.p99;
  row.minutes_per_million = 1e6 / *row.images_per_second / 60;
  if (const auto price = price_of(e.report, row.device_name)) row.cost_per_million = *price * *row.minutes_per_million;
}

void add_limit(record::ResultRow& row, const Replica& replica, const Experiment& e, const DeviceLimits& limits) {
  const bool train = row.mode == "train";
  const ir::Graph& graph = (train ? replica.train() : replica.eval()).graph->graph;
  const double work = train ? kTrainingWork : 1, step_s = *row.step_ms / 1e3;
  const auto element_bytes = static_cast<double>(ir::size_of(precision_type(e.device.precision)));
  row.fraction_of_limit = 2.0 * work * static_cast<double>(ir::cost_of(graph).macs) / limits.flop_per_s / step_s;
  row.fraction_of_roofline = work * roofline_s(ir::layer_table(graph), limits, element_bytes) / step_s;
}

}  // namespace convoy::train
