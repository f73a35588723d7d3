// An experiment written out again with every default: resolved.toml. Not the file as it was written: comments are lost.
#include "experiment/experiment.hpp"

#include <fmt/format.h>

namespace convoy::experiment {

namespace {

class Writer {
 public:
  void table(const char* name) { out_ += fmt::format("{}[{}]\n", out_.empty() ? "" : "\n", name); }
  void put(const char* key, const OptionData& value) { line(key, toml_text(value)); }
  void put(const char* key, const char* value) { put(key, OptionData(std::string(value))); }
  void line(const std::string& key, const std::string& value) { out_ += fmt::format("{} = {}\n", key, value); }
  void choice(const char* name, const Choice& c) {
    table(name);
    put("use", c.use);
  }
  void options(const OptionList& list) {
    for (const OptionValue& o : list) line(o.key, toml_text(o.value));
  }
  const std::string& text() const { return out_; }

 private:
  std::string out_;
};

void write_run(Writer& w, const RunOptions& o) {
  w.table("run");
  w.put("name", o.name);
  w.put("mode", o.mode == Mode::train ? "train" : o.mode == Mode::evaluate ? "evaluate" : "benchmark");
  if (o.epochs > 0) w.put("epochs", o.epochs);
  if (o.steps > 0) w.put("steps", o.steps);
  w.put("seed", o.seed);
  w.put("label_smoothing", o.label_smoothing);
  w.put("predictions", o.predictions);
  w.put("log_every", o.log_every);
  w.put("evaluate_every_epochs", o.evaluate_every_epochs);
}

void write_model(Writer& w, const ModelChoice& c) {
  w.choice("model", c);
  w.put("classes", c.classes);
  w.put("image", c.image);
  w.put("weights", c.weights);
  w.options(c.options);
}

void write_device(Writer& w, const DeviceChoice& c) {
  w.choice("device", c);
  w.put("count", c.count);
  w.put("ordinals", c.ordinals);
  w.put("precision", c.precision);
  w.put("execution", c.execution);
  w.put("deterministic", c.deterministic);
  w.put("threads", c.threads);
  w.options(c.options);
}

void write_comm(Writer& w, const CommChoice& c) {
  w.choice("comm", c);
  if (c.link) {
    if (!c.link->bandwidth.empty()) w.put("link.bandwidth", c.link->bandwidth);
    if (!c.link->latency.empty()) w.put("link.latency", c.link->latency);
    if (c.link->bandwidth.empty() && c.link->latency.empty()) w.line("link", "{}");
  }
  w.options(c.options);
}

void write_sync(Writer& w, const Choice& c) {
  w.choice("sync", c);
  w.options(c.options);
}

void write_data(Writer& w, const DataChoice& c) {
  w.choice("data", c);
  w.put("batch", c.batch);
  w.put("train_limit", c.train_limit);
  w.put("eval_limit", c.eval_limit);
  w.put("residency", c.residency);
  w.put("remainder", c.remainder);
  w.put("mean", c.mean);
  w.put("std", c.stdev);
  w.put("shuffle", c.shuffle);
  w.put("augment", c.augment);
  w.put("workers", c.workers);
  w.options(c.options);
}

void write_optimizer(Writer& w, const OptimizerOptions& o) {
  w.table("optimizer");
  w.put("use", o.use);
  w.put("lr", o.lr);
  w.put("momentum", o.momentum);
  w.put("dampening", o.dampening);
  w.put("weight_decay", o.weight_decay);
  w.put("nesterov", o.nesterov);
}

void write_schedule(Writer& w, const ScheduleChoice& o) {
  w.table("schedule");
  w.put("use", o.use);
  w.put("warmup_epochs", o.warmup_epochs);
  w.put("warmup_steps", o.warmup_steps);
  w.put("warmup_start", o.warmup_start);
  if (o.use == "step") {
    if (o.every_epochs > 0)
      w.put("every_epochs", o.every_epochs);
    else
      w.put("milestones", o.milestones);
    w.put("gamma", o.gamma);
  }
  if (o.use == "cosine") w.put("final_lr", o.final_lr);
}

void write_checkpoint(Writer& w, const CheckpointOptions& o) {
  w.table("checkpoint");
  w.put("every_epochs", o.every_epochs);
  w.put("keep_last", o.keep_last);
}

void write_report(Writer& w, const ReportOptions& o) {
  w.table("report");
  w.put("currency", o.currency);
  std::string by_device;
  for (const auto& [device, price] : o.price_per_minute) {
    if (device.empty()) return w.put("price_per_minute", price);
    by_device += fmt::format("{}{} = {}", by_device.empty() ? "" : ", ", quoted(device), float_text(price));
  }
  if (!by_device.empty()) w.line("price_per_minute", "{ " + by_device + " }");
}

void write_benchmark(Writer& w, const BenchmarkOptions& o) {
  w.table("benchmark");
  w.put("pass", o.pass);
  w.put("warmup_steps", o.warmup_steps);
  w.put("steps", o.steps);
  w.put("repeats", o.repeats);
  w.put("seconds", o.seconds);
}

}  // namespace

std::string to_toml(const Experiment& e) {
  Writer w;
  write_run(w, e.run);
  write_model(w, e.model);
  write_device(w, e.device);
  if (e.comm) write_comm(w, *e.comm);
  if (e.sync) write_sync(w, *e.sync);
  write_data(w, e.data);
  write_optimizer(w, e.optimizer);
  write_schedule(w, e.schedule);
  write_checkpoint(w, e.checkpoint);
  write_report(w, e.report);
  if (e.benchmark) write_benchmark(w, *e.benchmark);
  return w.text();
}

}  // namespace convoy::experiment
