#include "train/step_pipeline.hpp"

#include <cstddef>
#include <exception>

namespace convoy::train {

namespace {

/// What one slot holds in staging memory.
struct Staged {
  std::array<int64_t, 4> rng;
  float lr;
  float scale;
  float loss;
  int32_t top1;
  int32_t top5;
};

}  // namespace

StepPipeline::StepPipeline(const exec::Device& device, exec::Program& program, const StepGraph& graph,
                           bool want_logits, uint32_t timeout_ms)
    : device_(device),
      program_(program),
      graph_(graph),
      want_logits_(want_logits),
      timeout_ms_(timeout_ms),
      depth_(device.info().async != 0 ? kDepth : 1),
      stream_(device) {
  for (uint64_t i = 0; i < depth_; ++i) {
    Slot slot;
    slot.memory = exec::DeviceBuffer(device, sizeof(Staged), device.staging_memory(), "step scalars");
    if (want_logits)
      slot.logits = exec::DeviceBuffer(device, program.bytes(graph.logits), device.staging_memory(), "logits");
    slot.done = std::make_unique<exec::DeviceEvent>(device);
    slots_.push_back(std::move(slot));
  }
}

StepPipeline::~StepPipeline() {
  if (submitted_ == 0) return;
  try {  // an event of its own: a step that failed half enqueued has recorded none
    exec::DeviceEvent last(device_);
    last.record(stream());
    last.sync(timeout_ms_);
  } catch (const std::exception&) {  // the error that brought us here is the one to tell
  }
}

void StepPipeline::write_scalars(Slot& slot, const StepScalars& scalars) {
  auto* staged = static_cast<Staged*>(slot.memory.ptr());
  staged->rng = scalars.rng;
  staged->lr = scalars.lr;
  staged->scale = scalars.scale;
  const auto write = [&](Value v, uint64_t offset, uint64_t bytes) {
    if (v != kNoValue) program_.write(v, slot.memory.get(), offset, bytes, stream());
  };
  write(graph_.rng, offsetof(Staged, rng), sizeof staged->rng);
  write(graph_.lr, offsetof(Staged, lr), sizeof staged->lr);
  write(graph_.scale, offsetof(Staged, scale), sizeof staged->scale);
}

void StepPipeline::read_results(Slot& slot) {
  program_.read(graph_.loss, slot.memory.get(), offsetof(Staged, loss), sizeof(float), stream());
  program_.read(graph_.top1, slot.memory.get(), offsetof(Staged, top1), sizeof(int32_t), stream());
  program_.read(graph_.top5, slot.memory.get(), offsetof(Staged, top5), sizeof(int32_t), stream());
  if (want_logits_) program_.read(graph_.logits, slot.logits.get(), 0, program_.bytes(graph_.logits), stream());
}

void StepPipeline::submit(uint64_t step, const Batch* batch, uint64_t counted, const StepScalars& scalars) {
  Slot& slot = slots_[submitted_ % depth_];
  slot.step = step;
  slot.counted = counted;
  if (batch != nullptr) {
    program_.write(graph_.images, batch->images, 0, program_.bytes(graph_.images), stream());
    program_.write(graph_.labels, batch->labels, 0, program_.bytes(graph_.labels), stream());
  }
  write_scalars(slot, scalars);
  program_.run(stream(), step);
  read_results(slot);
  slot.done->record(stream());
  ++submitted_;
}

StepResult StepPipeline::finish() {
  Slot& slot = slots_[finished_ % depth_];
  slot.done->sync(timeout_ms_);
  device_.host().poll();
  ++finished_;
  const auto* staged = static_cast<const Staged*>(slot.memory.ptr());
  StepResult out{slot.step, slot.counted, staged->loss, staged->top1, staged->top5, {}};
  if (want_logits_)
    out.logits = {static_cast<const float*>(slot.logits.ptr()), program_.bytes(graph_.logits) / sizeof(float)};
  return out;
}

}  // namespace convoy::train
