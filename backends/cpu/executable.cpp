#include "executable.hpp"

#include <omp.h>

#include <cstring>

namespace convoy::cpu {

namespace {

/// Runs a list of steps. Nothing is allocated here, nor by the steps (oneDNN's C interface keeps a small table of its
/// own for each call).
Code run_steps(const std::vector<std::unique_ptr<Step>>& steps, Stream s) noexcept {
  for (const auto& step : steps)
    if (const Code c = step->run(s); c != Code::ok) return c;
  return Code::ok;
}

}  // namespace

Executable::Executable(Compiled compiled, const ExecutableOptions& options)
    : compiled_(std::move(compiled)), options_(options), boundary_(compiled_.graph->view().tensors.n, nullptr) {
  for (When when : {When::refresh, When::run})
    for (const auto& step : compiled_.schedule.steps(when)) step->prepare();
  if (options_.profile) profile_ = std::make_unique<Profile>(compiled_.schedule.steps(When::run).size());
}

Executable::~Executable() {
  if (profile_) profile_->report(compiled_.schedule.steps(When::run));
}

Code Executable::memory(MemoryReport* out) noexcept {
  return sdk::guard("cpu memory", [&] {
    const Schedule& s = compiled_.schedule;
    MemoryReport r{sizeof(MemoryReport), s.size(When::run), s.arena_bytes(), 0, 0};
    r.workspace_bytes = s.largest_of([&](BufferId b) { return s.is_scratch(b); });
    r.saved_bytes = s.bytes_of([&](BufferId b) { return s.lives_across(b, compiled_.backward_begin); });
    std::memcpy(out, &r, std::min<std::size_t>(sizeof r, out->struct_size == 0 ? sizeof r : out->struct_size));
  });
}

Code Executable::describe(INodeReport& out) noexcept {
  return sdk::guard("cpu describe", [&] {
    for (uint32_t n = 0; n < compiled_.notes.size(); ++n) {
      const NodeNote& note = compiled_.notes[n];
      sdk::check(out.note(n, note.via, note.group, sdk::str(note.text)), "note a node");
    }
  });
}

Code Executable::bind(void* arena, Span<const Binding> boundary) noexcept {
  return sdk::guard("cpu bind", [&] {
    const GraphIndex& g = *compiled_.graph;
    for (uint64_t i = 0; i < boundary.n; ++i) boundary_.at(boundary.p[i].v) = boundary.p[i].ptr;
    for (Value v = 0; v < boundary_.size(); ++v)
      if (g.is_boundary(v) && home(v) == nullptr && (g.producer(v) != kNoNode || !g.consumers(v).empty()))
        throw sdk::Error(Code::invalid, "boundary value '" + sdk::text(g.tensor(v).name) + "' has no memory");
    const auto address = compiled_.schedule.addresses(arena, boundary_);
    for (When when : {When::refresh, When::run})
      for (const auto& step : compiled_.schedule.steps(when)) step->bind(address);
  });
}

Code Executable::refresh(Stream s) noexcept {
  omp_set_num_threads(options_.threads);
  return run_steps(compiled_.schedule.steps(When::refresh), s);
}

Code Executable::run(Stream s, uint64_t) noexcept {
  omp_set_num_threads(options_.threads);
  const auto& steps = compiled_.schedule.steps(When::run);
  return profile_ ? profile_->run(steps, s) : run_steps(steps, s);
}

Code Executable::value_layout(Value, Str* tag) noexcept {
  *tag = sdk::str("canonical");
  return Code::ok;
}

void* Executable::home(Value v) const {
  const int32_t alias = compiled_.graph->tensor(v).alias_of;
  return boundary_[alias >= 0 ? static_cast<Value>(alias) : v];
}

Code Executable::export_value(Value v, Stream, void* canonical) noexcept {
  return sdk::guard("cpu export", [&] {
    if (v >= boundary_.size() || home(v) == nullptr) throw sdk::Error(Code::invalid, "not a bound boundary value");
    std::memcpy(canonical, home(v), compiled_.graph->bytes(v));
  });
}

Code Executable::import_value(Value v, Stream, const void* canonical) noexcept {
  return sdk::guard("cpu import", [&] {
    if (v >= boundary_.size() || home(v) == nullptr) throw sdk::Error(Code::invalid, "not a bound boundary value");
    std::memcpy(home(v), canonical, compiled_.graph->bytes(v));
  });
}

}  // namespace convoy::cpu
