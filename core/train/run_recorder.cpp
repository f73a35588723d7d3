#include "train/run_recorder.hpp"

namespace convoy::train {

namespace {
record::Record start(const char* event, uint64_t step, double epoch) {
  record::Record r;
  r.add("event", event).add("step", static_cast<int64_t>(step)).add("epoch", epoch);
  return r;
}
}  // namespace

void RunRecorder::on_step(const StepReport& r) {
  metrics_.append(start("step", r.step, r.epoch)
                      .add("loss", r.loss)
                      .add("top1", r.top1)
                      .add("lr", r.lr)
                      .add("images_per_second", r.images_per_second)
                      .add("step_ms", r.step_ms)
                      .add("data_wait_share", r.data_wait_share));
  next_.on_step(r);
}

void RunRecorder::on_epoch(const EpochReport& r) {
  metrics_.append(start("epoch", r.step, r.epoch)
                      .add("train_loss", r.train_loss)
                      .add("train_top1", r.train_top1)
                      .add("train_top5", r.train_top5)
                      .add("seconds", r.seconds));
  next_.on_epoch(r);
}

void RunRecorder::on_evaluation(const EvaluationReport& r) {
  metrics_.append(start("evaluation", r.step, r.epoch)
                      .add("samples", static_cast<int64_t>(r.samples))
                      .add("loss", r.loss)
                      .add("top1", r.top1)
                      .add("top5", r.top5)
                      .add("seconds", r.seconds));
  next_.on_evaluation(r);
}

}  // namespace convoy::train
