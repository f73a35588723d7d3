#include "runner/progress.hpp"

#include <fmt/format.h>

namespace convoy::runner {

namespace {

constexpr double kTerminalEvery_s = 0.1;  // often enough to look alive
constexpr double kPlainEvery_s = 5.0;     // a log file of an hour stays under a thousand lines

std::string remaining(const train::StepReport& r) {
  const double seconds = static_cast<double>(r.total_steps - r.step) * r.step_ms / 1e3;
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

void Progress::line(const std::string& text) {
  if (unfinished_) std::fputs("\r\x1b[K", out_);
  unfinished_ = false;
  std::fputs((text + "\n").c_str(), out_);  // not by fmt::print, which throws where nobody reads any more
  std::fflush(out_);
}

void Progress::on_step(const train::StepReport& r) {
  const bool first = shown_epoch_ < 0;
  if (!first && since_shown_.elapsed_s() < (terminal_ ? kTerminalEvery_s : kPlainEvery_s)) return;
  since_shown_.restart();
  shown_epoch_ = r.epoch;
  const std::string text =
      fmt::format("step {}/{}  epoch {:.2f}  loss {:.4f}  top-1 {:5.2f} %  lr {:.4g}  {:.0f} img/s  {:.1f} ms/step  "
                  "data wait {:.0f} %  left {}",
                  r.step, r.total_steps, r.epoch, r.loss, 100 * r.top1, r.lr, r.images_per_second, r.step_ms,
                  100 * r.data_wait_share, remaining(r));
  if (!terminal_) return line(text);
  std::fputs(("\r\x1b[K" + text).c_str(), out_);
  std::fflush(out_);
  unfinished_ = true;
}

void Progress::on_epoch(const train::EpochReport& r) {
  line(fmt::format("epoch {:.4g}  train loss {:.4f}  train top-1 {:.2f} %  {:.1f} s", r.epoch, r.train_loss,
                   100 * r.train_top1, r.seconds));
}

void Progress::on_evaluation(const train::EvaluationReport& r) {
  line(fmt::format("epoch {:.4g}  held-out loss {:.4f}  top-1 {:.2f} %  top-5 {:.2f} %  ({} samples, {:.1f} s)", r.epoch,
                   r.loss, 100 * r.top1, 100 * r.top5, r.samples, r.seconds));
}

void Progress::on_notice(const std::string& text) { line(text); }

}  // namespace convoy::runner
