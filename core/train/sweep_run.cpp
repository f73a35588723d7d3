#include "train/sweep_run.hpp"

#include "error.hpp"
#include "record/atomic_file.hpp"
#include "record/csv.hpp"
#include "record/repeats.hpp"
#include "record/statistics.hpp"
#include "train/benchmark.hpp"
#include "train/gate.hpp"
#include "train/run_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <new>
#include <optional>

namespace convoy::train {

namespace {

using experiment::Experiment;
using experiment::Mode;
using record::RowStatus;

constexpr std::size_t kStatus = 11, kRate = 12, kGate = 28;  // columns of kResultHeader

struct Point {
  const SweepItem* item;
  record::ResultRow row;
  std::vector<std::string> fields;  // empty: no row yet
  std::vector<double> step_ms;      // of all repeats
  int64_t repeats = 0;
  bool finished = false;
  int exit_code = 0;
};

RowStatus status_of(const Error& e) {
  if (dynamic_cast<const GateFailed*>(&e) != nullptr || e.kind() == ErrorKind::numerics || e.number() == kNoGradient) return RowStatus::gate_failed;
  if (e.number() == plugin::kOutOfMemory) return RowStatus::out_of_memory;
  if (e.number() == plugin::kUnsupported || e.number() == "P501") return RowStatus::unsupported;
  return RowStatus::error;
}

class Sweep {
 public:
  Sweep(const std::vector<SweepItem>& items, const std::string& resolved, const RunContext& context)
      : context_(context), resolved_(resolved), several_(items.size() > 1), repeats_file_(open(resolved, context)) {
    for (const auto& item : items) points_.push_back({&item, {}, {}, {}, 0, false, 0});
    take_over();
  }

  SweepOutcome go() {
    const Experiment& first = points_[0].item->experiment;
    const int64_t rounds = first.run.mode == Mode::benchmark ? most_repeats() : 1;
    for (int64_t round = 0; round < rounds && !*context_.stop; ++round)
      for (Point& p : points_)
        if (!p.finished && p.repeats <= round && !*context_.stop) run(p, round);
    return outcome();
  }

 private:
  static record::Repeats open(const std::string& resolved, const RunContext& context) {
    const auto file = context.directory.resolved_toml();
    if (std::ifstream in(file, std::ios::binary); in) {
      const std::string earlier{std::istreambuf_iterator<char>(in), {}};
      if (earlier != resolved)
        throw Error(ErrorKind::usage, fmt::format("{} holds another sweep's results: its resolved.toml differs", context.directory.root().string()))
            .note("fix", "the same file and options, or no --resume");
    } else {
      record::write_atomic(file, resolved);
    }
    return record::Repeats(context.directory.root() / "repeats.ndjson");
  }

  int64_t most_repeats() const {
    int64_t most = 1;
    for (const Point& p : points_) most = std::max(most, p.item->experiment.benchmark->repeats);
    return most;
  }

  /// What an earlier start measured.
  void take_over() {
    for (const record::Repeat& r : repeats_file_.earlier())
      for (Point& p : points_) {
        if (p.item->label != r.sweep) continue;
        const std::string& status = r.fields.at(kStatus);
        p.fields = r.fields;
        p.step_ms.insert(p.step_ms.end(), r.step_ms.begin(), r.step_ms.end());
        p.repeats += status == "ok" ? 1 : 0;
        p.finished = status == "ok" ? p.repeats >= wanted(p) : status != "error";
        if (status == "gate_failed") p.exit_code = static_cast<int>(ErrorKind::numerics);
      }
    const auto done = std::count_if(points_.begin(), points_.end(), [](const Point& p) { return p.finished; });
    if (done > 0) notice(fmt::format("{} of {} configurations are finished already", done, points_.size()));
  }

  static int64_t wanted(const Point& p) {
    return p.item->experiment.run.mode == Mode::benchmark ? p.item->experiment.benchmark->repeats : 1;
  }

  void notice(const std::string& text) {
    context_.log->info("sweep", text);
    context_.observer->on_notice(text);
  }

  void run(Point& p, int64_t round) {
    const Experiment& e = p.item->experiment;
    std::vector<double> measured;
    try {
      p.row = empty_row(e, mode_of(e), device_names_[e.device.use]);
      p.row.sweep = p.item->label;
      if (e.run.mode == Mode::benchmark)
        measured = measure(p);
      else
        run_whole(p);
    } catch (const Error& error) {
      const RowStatus status = status_of(error);
      const std::string detail = status == RowStatus::unsupported && !error.notes().empty() ? " (" + error.notes()[0].second + ")" : "";
      fail(p, status, error.what() + detail, status == RowStatus::gate_failed ? static_cast<int>(ErrorKind::numerics) : error.exit_code());
      for (const auto& [label, text] : error.notes()) context_.log->warning("sweep", fmt::format("{}: {}: {}", p.item->label, label, text));
    } catch (const std::bad_alloc&) {
      fail(p, RowStatus::out_of_memory, "out of host memory", static_cast<int>(ErrorKind::plugin));
    }
    if (*context_.stop) return;  // half a repeat is no result
    ++p.repeats;
    p.finished = p.row.status != RowStatus::ok || p.repeats >= wanted(p);
    p.fields = record::to_fields(p.row);
    repeats_file_.append({p.item->label, p.fields, measured});
    write_results();
    say(p, round);
  }

  static std::string mode_of(const Experiment& e) {
    if (e.run.mode == Mode::benchmark) return e.benchmark->pass;
    return e.run.mode == Mode::train ? "train" : "evaluate";
  }

  std::vector<double> measure(Point& p) {
    const Experiment& e = p.item->experiment;
    const bool train = e.benchmark->pass == "train";
    const NamedValues& statistics = statistics_of(e);
    if (p.repeats == 0) p.row.gate = small_gate(e, statistics);
    else p.row.gate = p.fields.at(kGate);
    Replica replica(e, *context_.registry, *context_.host);
    if (!manifest_written_) write_run_manifest(context_, e, resolved_, replica.threads());
    manifest_written_ = true;
    p.row.device_name = device_names_[e.device.use] = replica.device().info().name;
    p.row.peak_device_bytes = static_cast<int64_t>(replica.device_bytes());
    if (!train) set_statistics(replica.weights_program(), replica.eval().graph->graph, statistics, replica.device());
    if (p.repeats == 0) p.row.gate += ", " + (train ? check_training(e, replica) : check_inference(e, replica, statistics, *context_.host));
    std::vector<double> measured = measure_steps(e, replica, *context_.stop);
    if (*context_.stop) return measured;
    p.step_ms.insert(p.step_ms.end(), measured.begin(), measured.end());
    p.row.repeats = p.repeats + 1;
    p.row.status = RowStatus::ok;
    add_rate(p.row, e, p.step_ms);
    if (const auto& limits = limits_of(e, replica.device())) add_limit(p.row, replica, e, *limits);
    return measured;
  }

  /// Once for each network, device and way of computing, whatever the batch.
  std::string small_gate(const Experiment& e, const NamedValues& statistics) {
    const std::string& oracle = context_.oracle;
    if (e.device.use == oracle) return "passed: " + oracle + " is what others are compared with";
    const std::string key = network_of(e);
    const auto known = small_gates_.find(key);
    if (known != small_gates_.end() && known->second.failure) throw *known->second.failure;
    if (known != small_gates_.end()) return known->second.text;
    notice(fmt::format("checking {} on {} against {}, in small", e.model.use, e.device.use, oracle));
    try {
      return small_gates_[key].text = "passed: " + check_against(oracle, e, statistics, *context_.registry, *context_.host);
    } catch (const Error& error) {
      if (status_of(error) != RowStatus::gate_failed) throw;
      small_gates_[key].failure = GateFailed(error.what());
      throw;
    }
  }

  /// The experiment without what only the measured configuration has.
  static std::string network_of(Experiment e) {
    e.data.batch = 1;
    e.data.residency = "";
    return experiment::to_toml(e);
  }

  const NamedValues& statistics_of(const Experiment& e) {
    static const NamedValues none;
    if (e.benchmark->pass == "train") return none;
    const std::string key = network_of(e);
    if (const auto known = statistics_.find(key); known != statistics_.end()) return known->second;
    NamedValues found;
    try {
      found = settled_statistics(e, *context_.registry, *context_.host);
    } catch (const Error& error) {
      if (status_of(error) != RowStatus::unsupported) throw;
      notice(fmt::format("{} cannot train {}: its running statistics stay at 0 and 1", e.device.use, e.model.use));
    }
    return statistics_[key] = found;
  }

  const std::optional<DeviceLimits>& limits_of(const Experiment& e, const exec::Device& device) {
    const auto key = std::make_pair(p_name(device), e.device.precision);
    if (const auto known = limits_.find(key); known != limits_.end()) return known->second;
    std::optional<DeviceLimits> found;
    try {
      found = measure_limits(device, precision_type(e.device.precision));
      notice(fmt::format("{} in {}: {:.4g} GFLOP/s in a matrix product, {:.4g} GB/s in a copy", device.info().name, e.device.precision, found->flop_per_s / 1e9,
                         found->bytes_per_s / 1e9));
    } catch (const Error& error) {
      notice(fmt::format("the limits of {} were not measured: {}", device.name(), error.what()));
    }
    return limits_[key] = found;
  }
  static std::string p_name(const exec::Device& device) { return device.name() + " " + device.info().name; }

  void run_whole(Point& p) {
    RunContext inner = context_;
    inner.directory = record::RunDirectory::create(context_.directory.root(), p.item->label, context_.started);
    run_experiment(p.item->experiment, inner, &p.row);
    p.row.sweep = p.item->label;
  }

  static void fail(Point& p, RowStatus status, const std::string& why, int exit_code) {
    record::ResultRow row = empty_row(p.item->experiment, p.row.mode, p.row.device_name);
    row.sweep = p.item->label;
    row.status = status;
    row.gate = status == RowStatus::gate_failed ? why : "not reached: " + why;
    p.row = row;
    p.exit_code = exit_code;
  }

  void write_results() {
    std::string text = std::string(record::kResultHeader) + "\n";
    for (const Point& p : points_)
      if (!p.fields.empty()) text += record::csv_line(p.fields);
    record::write_atomic(context_.directory.results(), text);
  }

  void say(const Point& p, int64_t round) {
    const record::ResultRow& r = p.row;
    const std::string what = p.item->label.empty() ? fmt::format("{} {} batch {}", r.model, r.variant, p.item->experiment.data.batch) : p.item->label;
    const std::string result = r.status == RowStatus::ok && r.images_per_second ? fmt::format("{:.2f} images/s", *r.images_per_second)
                                                                               : fmt::format("{}: {}", record::to_string(r.status), r.gate);
    notice(fmt::format("[{}/{}] {}  {}", round + 1, wanted(p), what, result));
  }

  SweepOutcome outcome() const {
    SweepOutcome out;
    for (const Point& p : points_) {
      if (!p.fields.empty()) out.rows.push_back(p.fields);
      const std::string status = p.fields.empty() ? "" : p.fields.at(kStatus);
      const bool survivable = several_ && (status == "out_of_memory" || status == "unsupported");
      if (out.exit_code == 0 && !survivable) out.exit_code = p.exit_code;
    }
    if (*context_.stop) out.exit_code = kStoppedExitCode;
    return out;
  }

  struct SmallGate {
    std::string text;
    std::optional<GateFailed> failure;
  };

  const RunContext& context_;
  const std::string& resolved_;
  bool several_;
  bool manifest_written_ = false;
  record::Repeats repeats_file_;
  std::vector<Point> points_;
  std::map<std::string, std::string> device_names_;
  std::map<std::string, SmallGate> small_gates_;
  std::map<std::string, NamedValues> statistics_;
  std::map<std::pair<std::string, std::string>, std::optional<DeviceLimits>> limits_;
};

}  // namespace

SweepOutcome run_sweep(const std::vector<SweepItem>& items, const std::string& resolved, const RunContext& context) {
  record::Stopwatch watch;
  const SweepOutcome out = Sweep(items, resolved, context).go();
  record::Summary summary;
  summary.status = out.exit_code == 0 ? "done" : *context.stop ? "stopped" : "failed";
  summary.exit_code = out.exit_code;
  summary.wall_s = watch.elapsed_s();
  if (out.rows.size() == 1 && !out.rows[0].at(kRate).empty()) summary.images_per_second = std::stod(out.rows[0][kRate]);
  summary.more.add("rows", static_cast<int64_t>(out.rows.size()));
  record::write_summary(context.directory.summary(), summary);
  return out;
}

}  // namespace convoy::train
