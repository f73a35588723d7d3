#include "executable.hpp"

#include "cuda_error.hpp"
#include "event.hpp"

#include <algorithm>
#include <cstring>
#include <map>

namespace convoy::cuda {

namespace {

constexpr uint64_t kProfiledRun = 3;  // the fourth: everything is loaded and warm

/// Weights of rank 4 lie in another order than the core's: a copy of the largest is needed on the way in and out.
uint64_t staging_bytes(const GraphIndex& g) {
  uint64_t out = 0;
  for (Value v = 0; v < g.view().tensors.n; ++v)
    if (g.is_boundary(v) && home_form(g.tensor(v)).channels_last) out = std::max(out, g.bytes(v));
  return out;
}

}  // namespace

Executable::Executable(Compiled compiled, const Settings& settings, IStepHooks* hooks)
    : compiled_(std::move(compiled)), settings_(settings), hooks_(hooks), boundary_(compiled_.graph->view().tensors.n, nullptr) {
  split_into_segments();
}

Executable::~Executable() {
  cudaSetDevice(static_cast<int>(settings_.ordinal));
  if (staging_memory_ != nullptr) cudaFree(staging_memory_);
}

template <class F>
Code Executable::on_device(const char* where, F&& body) noexcept {
  return sdk::guard(where, [&] {
    check(cudaSetDevice(static_cast<int>(settings_.ordinal)), "choose a device");
    body();
  });
}

void Executable::split_into_segments() {
  const auto& steps = compiled_.schedule.steps(When::run);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Marker* marker = steps[i]->marker();
    if (marker == nullptr || hooks_ == nullptr) continue;
    segments_.push_back({begin, i, marker, {}});
    begin = i + 1;
  }
  segments_.push_back({begin, steps.size(), nullptr, {}});
}

Code Executable::memory(MemoryReport* out) noexcept {
  return sdk::guard("cuda memory", [&] {
    const Schedule& s = compiled_.schedule;
    MemoryReport r{sizeof(MemoryReport), s.size(When::run), s.arena_bytes(), s.workspace_bytes(), s.bytes_across(compiled_.backward_begin)};
    std::memcpy(out, &r, std::min<std::size_t>(sizeof r, out->struct_size == 0 ? sizeof r : out->struct_size));
  });
}

Code Executable::describe(INodeReport& out) noexcept {
  return sdk::guard("cuda describe", [&] {
    for (uint32_t n = 0; n < compiled_.notes.size(); ++n) {
      const NodeNote& note = compiled_.notes[n];
      sdk::check(out.note(n, note.via, note.group, sdk::str(note.text)), "note a node");
    }
  });
}

Code Executable::bind(void* arena, Span<const Binding> boundary) noexcept {
  return on_device("cuda bind", [&] {
    const GraphIndex& g = *compiled_.graph;
    for (uint64_t i = 0; i < boundary.n; ++i) boundary_.at(boundary.p[i].v) = boundary.p[i].ptr;
    for (Value v = 0; v < boundary_.size(); ++v)
      if (g.is_boundary(v) && home(v) == nullptr && (g.producer(v) != kNoNode || !g.consumers(v).empty()))
        throw sdk::Error(Code::invalid, "boundary value '" + sdk::text(g.tensor(v).name) + "' has no memory");
    const auto address = compiled_.schedule.addresses(arena, boundary_);
    for (When when : {When::refresh, When::run})
      for (const auto& step : compiled_.schedule.steps(when)) step->bind(address);
    for (const auto& initial : compiled_.schedule.initial())
      check(cudaMemcpy(address[initial.buffer], initial.content.data(), initial.content.size(), cudaMemcpyHostToDevice), "write a first value");
    if (const uint64_t bytes = staging_bytes(g); bytes > 0) check(cudaMalloc(&staging_memory_, bytes), "staging memory");
  });
}

Code Executable::refresh(Stream s) noexcept {
  return on_device("cuda refresh", [&] {
    for (const auto& step : compiled_.schedule.steps(When::refresh)) step->enqueue(native(s));
  });
}

void Executable::enqueue(const Segment& segment, cudaStream_t s) {
  const auto& steps = compiled_.schedule.steps(When::run);
  for (std::size_t i = segment.begin; i < segment.end; ++i) steps[i]->enqueue(s);
}

void Executable::record(cudaStream_t s) {
  for (Segment& segment : segments_) {
    if (segment.begin == segment.end) continue;
    begin_capture(s);
    try {
      enqueue(segment, s);
    } catch (...) {
      drop_capture(s);
      throw;
    }
    segment.graph = end_capture(s);
  }
  recorded_ = true;
}

void Executable::call_hook(const Segment& segment, Stream s) {
  if (segment.marker == nullptr) return;
  const bool ready = segment.marker->op == Op::grads_ready;
  sdk::check(ready ? hooks_->grads_ready(segment.marker->bucket, s) : hooks_->params_needed(segment.marker->bucket, s),
             ready ? "tell that gradients are ready" : "wait for parameters");
}

Code Executable::run(Stream s, uint64_t) noexcept {
  return on_device("cuda run", [&] {
    if (settings_.profile && runs_ == kProfiledRun) log_profile(native(s));
    else
      for (const Segment& segment : segments_) {
        if (segment.graph.exists()) check(segment.graph.launch(native(s)), "replay a step");
        else enqueue(segment, native(s));
        call_hook(segment, s);
      }
    ++runs_;
    if (settings_.graph && !recorded_) record(native(s));
  });
}

/// Runs one step with an event behind each piece, and logs the pieces by time.
void Executable::log_profile(cudaStream_t s) {
  const auto& steps = compiled_.schedule.steps(When::run);
  std::vector<cudaEvent_t> events(steps.size() + 1);
  for (auto& e : events) check(cudaEventCreate(&e), "create an event");
  check(cudaEventRecord(events[0], s), "record");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i]->enqueue(s);
    check(cudaEventRecord(events[i + 1], s), "record");
  }
  check(cudaStreamSynchronize(s), "run a step");
  std::vector<std::pair<float, std::size_t>> rows;
  float all = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, events[i], events[i + 1]), "time a piece");
    rows.push_back({ms, i});
    all += ms;
  }
  for (auto& e : events) cudaEventDestroy(e);
  std::sort(rows.rbegin(), rows.rend());
  sdk::host().log(2, sdk::str("cuda"), sdk::str("a step piece by piece: " + std::to_string(all) + " ms in " + std::to_string(rows.size()) + " pieces"));
  for (const auto& [ms, i] : rows) {
    const std::string line = std::to_string(1e3 * static_cast<double>(ms)) + " us  " + steps[i]->label();
    sdk::host().log(2, sdk::str("cuda"), sdk::str(line));
  }
}

Code Executable::value_layout(Value v, Str* tag) noexcept {
  const bool permuted = v < boundary_.size() && home_form(compiled_.graph->tensor(v)).channels_last;
  *tag = sdk::str(permuted ? "krsc" : "canonical");
  return Code::ok;
}

void* Executable::home(Value v) const {
  const int32_t alias = compiled_.graph->tensor(v).alias_of;
  return boundary_[alias >= 0 ? static_cast<Value>(alias) : v];
}

/// Null where the value lies as the core sees it.
void* Executable::staging(Value v, const char* what) {
  if (v >= boundary_.size() || home(v) == nullptr) throw sdk::Error(Code::invalid, std::string(what) + ": not a bound boundary value");
  const TensorDesc& t = compiled_.graph->tensor(v);
  return same_memory(t, home_form(t), plain(t)) ? nullptr : staging_memory_;
}

Code Executable::export_value(Value v, Stream s, void* canonical) noexcept {
  return on_device("cuda export", [&] {
    const TensorDesc& t = compiled_.graph->tensor(v);
    void* between = staging(v, "export");
    if (between != nullptr) check(convert(t, home(v), home_form(t), between, plain(t), native(s)), "reorder a value");
    check(cudaMemcpyAsync(canonical, between != nullptr ? between : home(v), compiled_.graph->bytes(v), cudaMemcpyDefault, native(s)), "copy a value out");
  });
}

Code Executable::import_value(Value v, Stream s, const void* canonical) noexcept {
  return on_device("cuda import", [&] {
    const TensorDesc& t = compiled_.graph->tensor(v);
    void* between = staging(v, "import");
    check(cudaMemcpyAsync(between != nullptr ? between : home(v), canonical, compiled_.graph->bytes(v), cudaMemcpyDefault, native(s)), "copy a value in");
    if (between != nullptr) check(convert(t, between, plain(t), home(v), home_form(t), native(s)), "reorder a value");
  });
}

}  // namespace convoy::cuda
