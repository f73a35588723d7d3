#include "lowering.hpp"

#include <algorithm>

namespace convoy::cpu {

namespace {

uint32_t last_position(const std::vector<uint32_t>& consumers, const std::vector<uint32_t>& position_of) {
  uint32_t last = 0;
  for (uint32_t n : consumers) last = std::max(last, position_of[n]);
  return last;
}

}  // namespace

Lowering::Lowering(const GraphIndex& graph, const std::vector<Group>& groups, Schedule& schedule, IStepHooks* hooks)
    : graph_(graph),
      schedule_(schedule),
      hooks_(hooks),
      position_of_(graph.nodes(), 0),
      places_(graph.view().tensors.n),
      boundary_(graph.view().tensors.n) {
  for (const Group& g : groups)
    for (uint32_t n : g.nodes) position_of_[n] = g.position;
  for (Value v = 0; v < places_.size(); ++v)
    if (graph.is_boundary(v) && graph.producer(v) == kNoNode) places_[v].push_back(boundary_place(v));
  alarm_ = make_bytes(sizeof(uint32_t));
}

void Lowering::begin(const Group& group) {
  group_ = &group;
  text_.clear();
  reorders_ = 0;
  first_step_ = schedule_.size(When::run);
}

GroupNote Lowering::end() {
  for (uint32_t n : group_->nodes)
    for (uint32_t i = 0; i < graph_.node(n).n_out; ++i)
      if (const Value v = graph_.out(n, i); v != kNoValue) settle(v);
  if (reorders_ > 0) say(std::to_string(reorders_) + (reorders_ == 1 ? " reorder" : " reorders"));
  return {text_, false, first_step_, schedule_.size(When::run) - first_step_};
}

GroupNote Lowering::refuse(const std::string& reason) {
  for (uint32_t n : group_->nodes)
    for (uint32_t i = 0; i < graph_.node(n).n_out; ++i)
      if (const Value v = graph_.out(n, i); v != kNoValue && places_[v].empty()) write(v);
  return {reason, true, first_step_, 0};
}

/// A boundary value's result ends in the core's memory.
void Lowering::settle(Value v) {
  if (!graph_.is_boundary(v) || places_[v].empty()) return;
  const BufferId home = *boundary_[graph_.tensor(v).alias_of >= 0 ? static_cast<Value>(graph_.tensor(v).alias_of) : v];
  for (const Tensor& t : places_[v])
    if (t.buffer == home) return;
  const Tensor to{home, canonical(graph_.tensor(v))};
  reorder(places_[v][0], to);
  places_[v].push_back(to);
}

Desc Lowering::preferred(Value v) const {
  const auto& places = places_[v];
  for (const Tensor& t : places)
    if (layout_of(t.desc) != Layout::plain) return t.desc;
  return places.empty() ? canonical(graph_.tensor(v)) : places[0].desc;
}

const Tensor* Lowering::find(Value v, const Desc& wanted) const {
  for (const Tensor& t : places_[v])
    if (same_memory(t.desc, wanted)) return &t;
  return nullptr;
}

Tensor Lowering::read(Value v, const Desc& wanted, const Desc* as) {
  need_f32(graph_, v);
  if (const Tensor* t = find(v, wanted)) return {t->buffer, wanted};
  if (as != nullptr && same_memory(*as, wanted)) return {read(v).buffer, wanted};
  return copy_of(v, wanted, as);
}

Tensor Lowering::copy_of(Value v, const Desc& wanted, const Desc* as) {
  const Desc plain = canonical(graph_.tensor(v));
  const Tensor* source = find(v, plain);
  if (source == nullptr && as == nullptr) source = &places_[v].at(0);
  const Tensor from = source == nullptr ? copy_of(v, plain, nullptr) : *source;
  const Tensor to{schedule_.arena_buffer(wanted.get_size()), wanted};
  reorder({from.buffer, as == nullptr ? from.desc : *as}, to, graph_.is_constant(v) ? When::refresh : When::run);
  places_[v].push_back(to);
  holds_[to.buffer].push_back(v);
  return to;
}

Tensor Lowering::read(Value v) {
  const Desc plain = canonical(graph_.tensor(v));
  if (const Tensor* t = find(v, plain)) return {t->buffer, plain};
  return copy_of(v, plain, nullptr);
}

Desc Lowering::hint(Value v) const {
  const auto dims = graph_.dims(v);
  for (uint32_t n : graph_.consumers(v))
    for (uint32_t i = 0; i < graph_.node(n).n_in; ++i) {
      const Value other = graph_.in(n, i);
      if (other != kNoValue && other != v && !places_[other].empty() && graph_.dims(other) == dims)
        return preferred(other);
    }
  return canonical(graph_.tensor(v));
}

Tensor Lowering::boundary_place(Value v) {
  const int32_t alias = graph_.tensor(v).alias_of;
  auto& buffer = boundary_[alias >= 0 ? static_cast<Value>(alias) : v];
  if (!buffer) {
    buffer = schedule_.boundary_buffer(alias >= 0 ? static_cast<Value>(alias) : v);
    holds_[*buffer].push_back(v);
  }
  return {*buffer, canonical(graph_.tensor(v))};
}

Tensor Lowering::write(Value v, const Desc& desc) {
  Tensor t{0, desc};
  if (graph_.is_boundary(v)) {
    const Tensor home = boundary_place(v);
    t.buffer = same_memory(home.desc, desc) ? home.buffer : schedule_.arena_buffer(desc.get_size());
  } else {
    t.buffer = schedule_.arena_buffer(desc.get_size());
  }
  places_[v].push_back(t);
  holds_[t.buffer].push_back(v);
  return t;
}

Tensor Lowering::write(Value v) { return write(v, canonical(graph_.tensor(v))); }

uint32_t Lowering::last_use(Value v) const { return last_position(graph_.consumers(v), position_of_); }

bool Lowering::is_free(Value input, const Tensor& place) const {
  if (!schedule_.is_arena(place.buffer) || schedule_.is_kept(place.buffer)) return false;
  const auto found = holds_.find(place.buffer);
  if (found == holds_.end() || std::find(found->second.begin(), found->second.end(), input) == found->second.end())
    return false;
  return std::all_of(found->second.begin(), found->second.end(),
                     [&](Value v) { return last_use(v) <= group_->position; });
}

Tensor Lowering::write_over(Value v, const Desc& desc, Value input, const Tensor& over) {
  if (graph_.is_boundary(v) || !is_free(input, over)) return write(v, desc);
  for (Value old : holds_[over.buffer])
    std::erase_if(places_[old], [&](const Tensor& t) { return t.buffer == over.buffer; });
  const Tensor t{over.buffer, desc};
  places_[v].push_back(t);
  holds_[over.buffer].push_back(v);
  return t;
}

void Lowering::share(Value v, const Tensor& place) {
  places_[v].push_back(place);
  holds_[place.buffer].push_back(v);
}

Tensor Lowering::make(const Desc& desc) { return {schedule_.arena_buffer(desc.get_size()), desc}; }

Tensor Lowering::make_bytes(uint64_t bytes) {
  const Desc d({static_cast<int64_t>(bytes)}, dnnl::memory::data_type::u8, Dims{1});
  return {schedule_.arena_buffer(bytes), d};
}

std::string Lowering::label(const std::string& how) const {
  return (group_ == nullptr ? std::string("refresh") : graph_.name(group_->leader)) + " " + how;
}

void Lowering::primitive(const Primitive& p, std::vector<PrimitiveStep::Argument> arguments, When when) {
  need_implementation(p);
  if (p.scratch_bytes() > 0) arguments.push_back({DNNL_ARG_SCRATCHPAD, make(p.scratch())});
  std::vector<BufferId> touched;
  for (const auto& a : arguments) touched.push_back(a.tensor.buffer);
  say(p.implementation());
  schedule_.add(when, std::make_unique<PrimitiveStep>(label(p.implementation()), p, std::move(arguments)), touched);
}

void Lowering::kernel(const std::string& what, const std::vector<Tensor>& operands, KernelStep::Body body, When when) {
  std::vector<BufferId> touched;
  for (const Tensor& t : operands) touched.push_back(t.buffer);
  if (when == When::run) say(what);
  schedule_.add(when, std::make_unique<KernelStep>(label(what), touched, std::move(body)), touched);
}

void Lowering::marker(uint32_t bucket, Op op) {
  schedule_.add(When::run, std::make_unique<MarkerStep>(graph_.name(group_->leader), op, bucket, hooks_), {});
}

void Lowering::reorder(const Tensor& from, const Tensor& to, When when) {
  const Primitive p = cpu::reorder(from.desc, to.desc);
  if (p.quality() == 0) throw Refused("oneDNN has no fast reorder between two layouts of it");
  std::vector<PrimitiveStep::Argument> arguments{{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  if (p.scratch_bytes() > 0) arguments.push_back({DNNL_ARG_SCRATCHPAD, make(p.scratch())});
  std::vector<BufferId> touched;
  for (const auto& a : arguments) touched.push_back(a.tensor.buffer);
  reorders_ += when == When::run ? 1 : 0;
  schedule_.add(when, std::make_unique<PrimitiveStep>(label("reorder"), p, std::move(arguments)), touched);
}

void Lowering::say(const std::string& text) { text_ += (text_.empty() ? "" : ", ") + text; }

void need_implementation(const Primitive& p) {
  if (p.quality() > 0) return;
  throw Refused(p.exists() ? "oneDNN has only '" + p.implementation() + "' for it, which is a plain loop"
                           : "oneDNN has no implementation for these shapes");
}

const Primitive& keep_if_equal(const Primitive& free, const Primitive& kept) {
  return kept.exists() && kept.quality() > 0 &&
                 (free.quality() == 0 || kept.implementation() == free.implementation())
             ? kept
             : free;
}

void need_f32(const GraphIndex& g, Value v) {
  if (v != kNoValue && g.tensor(v).dtype != DType::f32)
    throw Refused(std::string("is computed in f32 here, and one of its values is ") + name_of(g.tensor(v).dtype));
}

void need_rank(const GraphIndex& g, Value v, uint32_t rank) {
  if (g.tensor(v).rank != rank)
    throw Refused("takes a value of rank " + std::to_string(rank) + ", not " + std::to_string(g.tensor(v).rank));
}

}  // namespace convoy::cpu
