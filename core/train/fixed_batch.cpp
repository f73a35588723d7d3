#include "train/fixed_batch.hpp"

#include <convoy/sdk/philox.hpp>

#include <cmath>

namespace convoy::train {

namespace {

constexpr uint32_t kTimeoutMs = 600'000;  // a step on a slow device may take long; it is waited for once

FeedOptions one_batch(Split split, uint64_t batch, uint64_t seed) {
  FeedOptions o;
  o.split = split;
  o.seed = seed;
  o.batch = batch;
  o.end_step = 1;
  return o;
}

}  // namespace

PickSamples in_order(uint64_t batch, uint64_t samples) {
  return [=](uint64_t step, std::vector<SampleRef>& out) {
    out.resize(batch);
    for (uint64_t i = 0; i < batch; ++i) out[i] = {(step * batch + i) / samples, (step * batch + i) % samples};
  };
}

FirstBatch::FirstBatch(const exec::Device& device, const OpenDataset& data, Split split, uint64_t batch, uint64_t samples, uint64_t seed)
    : feed_(device, data, in_order(batch, samples), one_batch(split, batch, seed)), batch_(&feed_.take()) {}

FixedBatch::FixedBatch(const exec::Device& device, exec::Program& program, const StepGraph& graph, const Batch& batch, uint64_t seed)
    : program_(program), graph_(graph), pipeline_(device, program, graph, false, kTimeoutMs) {
  scalars_.rng = {static_cast<int64_t>(seed), 0, 0, 0};
  program.write(graph.images, batch.images, 0, program.bytes(graph.images), pipeline_.stream());
  program.write(graph.labels, batch.labels, 0, program.bytes(graph.labels), pipeline_.stream());
  refresh();
}

double FixedBatch::step(float lr) {
  scalars_.lr = lr;
  pipeline_.submit(0, nullptr, 0, scalars_);
  return static_cast<double>(pipeline_.finish().loss);
}

std::vector<float> FixedBatch::logits() const { return values(graph_.logits); }

RandomBatch::RandomBatch(const ModelSpec& spec, uint64_t seed) {
  sdk::Random random(seed, sdk::RandomUse::synthetic, 0, 0);
  const float edge = std::sqrt(3.0f);
  images_.resize(std::size_t{spec.batch} * spec.channels * spec.height * spec.width);
  for (float& x : images_) x = random.uniform(-edge, edge);
  for (uint32_t i = 0; i < spec.batch; ++i) labels_.push_back(static_cast<int32_t>(random.below(spec.classes)));
  batch_.images = exec::host_view(images_.data(), images_.size() * sizeof(float));
  batch_.labels = exec::host_view(labels_.data(), labels_.size() * sizeof(int32_t));
  batch_.filled = spec.batch;
}

}  // namespace convoy::train
