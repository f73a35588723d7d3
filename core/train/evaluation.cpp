#include "train/evaluation.hpp"

#include "error.hpp"
#include "record/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace convoy::train {

namespace {

/// Sums over counted samples: those with a label. A dataset gives -1 for one that it could not read.
struct Totals {
  uint64_t read = 0;
  uint64_t samples = 0;
  double loss = 0;
  uint64_t top1 = 0;
  uint64_t top5 = 0;

  void add(const StepResult& r, const std::vector<int32_t>& labels) {
    const auto labelled = static_cast<uint64_t>(std::count_if(labels.begin(), labels.end(), [](int32_t l) { return l >= 0; }));
    read += r.counted;
    samples += labelled;
    loss += static_cast<double>(r.loss) * static_cast<double>(labelled);
    top1 += static_cast<uint64_t>(r.top1);
    top5 += static_cast<uint64_t>(r.top5);
  }
};

void hand_out(const StepResult& r, const std::vector<int32_t>& labels, uint64_t batch, const TakeLogits& take) {
  const std::size_t classes = r.logits.size() / batch;
  for (uint64_t i = 0; i < r.counted; ++i)
    take(r.step * batch + i, labels[i], r.logits.subspan(i * classes, classes));
}

}  // namespace

EvaluationReport evaluate(const exec::Device& device, exec::Program& program, const StepGraph& graph,
                          const OpenDataset& data, const EvaluationOptions& options, const TakeLogits& take_logits,
                          const std::atomic<bool>& stop) {
  const uint64_t steps = (options.samples + options.batch - 1) / options.batch;
  FeedOptions feed_options;
  feed_options.split = Split::eval;
  feed_options.seed = options.seed;
  feed_options.batch = options.batch;
  feed_options.end_step = steps;
  feed_options.readers = options.readers;
  const auto pick = [&](uint64_t step, std::vector<SampleRef>& out) {
    const uint64_t first = step * options.batch;
    out.resize(std::min(options.batch, options.samples - first));
    for (uint64_t i = 0; i < out.size(); ++i) out[i] = {0, first + i};
  };

  record::Stopwatch watch;
  BatchFeed feed(device, data, pick, feed_options);
  StepPipeline pipeline(device, program, graph, static_cast<bool>(take_logits), options.timeout_ms);
  program.refresh(pipeline.stream());
  // Labels of the steps in flight: their batch's memory is given back before logits are handed out.
  std::array<std::vector<int32_t>, StepPipeline::kDepth> labels;
  Totals totals;
  const auto finish = [&] {
    const StepResult r = pipeline.finish();
    if (!std::isfinite(r.loss))
      throw Error(ErrorKind::numerics, fmt::format("the loss of evaluation batch {} is not finite ({})", r.step, r.loss));
    totals.add(r, labels[r.step % labels.size()]);
    if (take_logits) hand_out(r, labels[r.step % labels.size()], options.batch, take_logits);
    feed.give_back(r.step);
  };
  for (uint64_t step = 0; step < steps && !stop; ++step) {
    if (pipeline.full()) finish();
    const Batch& batch = feed.take();
    const auto* l = static_cast<const int32_t*>(batch.labels.ptr);
    labels[step % labels.size()].assign(l, l + options.batch);
    pipeline.submit(step, &batch, batch.filled, {});
  }
  while (!pipeline.empty()) finish();

  EvaluationReport out;
  const auto n = static_cast<double>(std::max<uint64_t>(1, totals.samples));
  out.samples = totals.read;
  out.loss = totals.loss / n;
  out.top1 = static_cast<double>(totals.top1) / n;
  out.top5 = static_cast<double>(totals.top5) / n;
  out.seconds = watch.elapsed_s();
  return out;
}

}  // namespace convoy::train
