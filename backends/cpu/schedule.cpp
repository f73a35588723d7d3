#include "schedule.hpp"

#include <convoy/sdk/planner.hpp>

#include <algorithm>

namespace convoy::cpu {

BufferId Schedule::arena_buffer(uint64_t bytes) {
  Memory m;
  m.bytes = bytes;
  buffers_.push_back(m);
  return static_cast<BufferId>(buffers_.size() - 1);
}

BufferId Schedule::boundary_buffer(Value v) {
  Memory m;
  m.boundary = v;
  buffers_.push_back(m);
  return static_cast<BufferId>(buffers_.size() - 1);
}

void Schedule::add(When when, std::unique_ptr<Step> step, const std::vector<BufferId>& touched) {
  auto& list = when == When::run ? run_ : refresh_;
  const auto now = static_cast<uint32_t>(list.size());
  for (BufferId b : touched) {
    Use& use = when == When::run ? buffers_[b].run : buffers_[b].refresh;
    use.first = use.used ? use.first : now;
    use.last = now;
    use.used = true;
  }
  list.push_back(std::move(step));
}

void Schedule::plan() {
  // One axis of time: the refresh steps, then those of the run. What refresh writes for the runs lives to the end;
  // what it needs only meanwhile may share memory with a run.
  const auto runs_begin = static_cast<uint32_t>(refresh_.size());
  const auto end = static_cast<uint32_t>(runs_begin + run_.size());
  std::vector<sdk::Lifetime> lives;
  std::vector<BufferId> owner;
  for (BufferId b = 0; b < buffers_.size(); ++b) {
    const Memory& m = buffers_[b];
    if (!is_arena(b) || (!m.run.used && !m.refresh.used)) continue;
    const uint32_t first = m.refresh.used ? m.refresh.first : runs_begin + m.run.first;
    const uint32_t last = !m.run.used ? m.refresh.last : m.refresh.used ? end : runs_begin + m.run.last;
    lives.push_back({m.bytes, first, last});
    owner.push_back(b);
  }
  const auto plan = sdk::plan_arena(lives);
  for (std::size_t i = 0; i < owner.size(); ++i) buffers_[owner[i]].offset = plan.offsets[i];
  arena_bytes_ = plan.bytes;
}

bool Schedule::lives_across(BufferId b, uint32_t step) const {
  const Use& u = buffers_[b].run;
  return u.used && !buffers_[b].refresh.used && u.first < step && u.last >= step;
}

std::vector<void*> Schedule::addresses(void* arena, const std::vector<void*>& boundary) const {
  std::vector<void*> out;
  for (const Memory& m : buffers_)
    out.push_back(m.boundary == kNoValue ? static_cast<char*>(arena) + m.offset : boundary[m.boundary]);
  return out;
}

}  // namespace convoy::cpu
