#include "schedule.hpp"

#include <convoy/sdk/planner.hpp>

#include <algorithm>

namespace convoy::cuda {

namespace {
constexpr uint64_t kAlignment = 1024;  // bytes: whole sectors and lines, and what the widest loads want
}

BufferId Schedule::arena_buffer(uint64_t bytes) {
  Memory m;
  m.bytes = bytes;
  buffers_.push_back(std::move(m));
  return static_cast<BufferId>(buffers_.size() - 1);
}

BufferId Schedule::kept_buffer(std::vector<unsigned char> initial) {
  const BufferId b = arena_buffer(initial.size());
  buffers_[b].kept = true;
  initial_.push_back({b, std::move(initial)});
  return b;
}

BufferId Schedule::boundary_buffer(Value v) {
  const BufferId b = arena_buffer(0);
  buffers_[b].boundary = v;
  return b;
}

BufferId Schedule::workspace_of(std::shared_ptr<const Choice> choice) {
  const BufferId b = arena_buffer(0);
  buffers_[b].workspace_of = std::move(choice);
  return b;
}

void Schedule::add(When when, std::unique_ptr<Step> step) {
  auto& list = when == When::run ? run_ : refresh_;
  const auto now = static_cast<uint32_t>(list.size());
  for (const Operand& o : step->operands()) {
    Use& use = when == When::run ? buffers_[o.buffer].run : buffers_[o.buffer].refresh;
    use.first = use.used ? use.first : now;
    use.last = now;
    use.used = true;
  }
  list.push_back(std::move(step));
}

void Schedule::plan() {
  // One axis of time: the refresh steps, then those of the run.
  const auto runs_begin = static_cast<uint32_t>(refresh_.size());
  const auto end = static_cast<uint32_t>(runs_begin + run_.size());
  std::vector<sdk::Lifetime> lives;
  std::vector<BufferId> owner;
  for (BufferId b = 0; b < buffers_.size(); ++b) {
    Memory& m = buffers_[b];
    if (m.boundary != kNoValue || (!m.run.used && !m.refresh.used && !m.kept)) continue;
    if (m.workspace_of && m.workspace_of->plan) m.bytes = m.workspace_of->plan->workspace_bytes();
    const bool both = m.refresh.used && m.run.used;
    const uint32_t first = m.kept ? 0 : m.refresh.used ? m.refresh.first : runs_begin + m.run.first;
    const uint32_t last = m.kept || both ? end : m.run.used ? runs_begin + m.run.last : m.refresh.last;
    lives.push_back({m.bytes, m.kept || both ? 0 : first, last});
    owner.push_back(b);
  }
  const auto plan = sdk::plan_arena(lives, kAlignment);
  for (std::size_t i = 0; i < owner.size(); ++i) buffers_[owner[i]].offset = plan.offsets[i];
  arena_bytes_ = plan.bytes;
}

uint64_t Schedule::workspace_bytes() const {
  uint64_t out = 0;
  for (const Memory& m : buffers_)
    if (m.workspace_of) out = std::max(out, m.bytes);
  return out;
}

uint64_t Schedule::bytes_across(uint32_t step) const {
  uint64_t out = 0;
  for (const Memory& m : buffers_)
    if (m.boundary == kNoValue && m.run.used && !m.refresh.used && m.run.first < step && m.run.last >= step) out += m.bytes;
  return out;
}

std::vector<void*> Schedule::addresses(void* arena, const std::vector<void*>& boundary) const {
  std::vector<void*> out;
  for (const Memory& m : buffers_)
    out.push_back(m.boundary == kNoValue ? static_cast<char*>(arena) + m.offset : boundary[m.boundary]);
  return out;
}

}  // namespace convoy::cuda
