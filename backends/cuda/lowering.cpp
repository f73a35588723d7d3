#include "lowering.hpp"

#include "loss_scale.hpp"

#include <convoy/sdk/catalogue.hpp>

#include <algorithm>

namespace convoy::cuda {

namespace {

Type compute_type(Precision p) {
  switch (p) {
    case Precision::bf16: return Type::bf16;
    case Precision::fp16: return Type::f16;
    default: return Type::f32;
  }
}

bool lives_across_steps(const TensorDesc& t) {
  return t.role == Role::param || t.role == Role::state || t.role == Role::frozen;
}

}  // namespace

Lowering::Lowering(const GraphIndex& graph, const std::vector<Group>&, Schedule& schedule, PlanSearch& search, const Settings& settings)
    : graph_(graph),
      schedule_(schedule),
      search_(search),
      settings_(settings),
      compute_(compute_type(settings.precision)),
      places_(graph.view().tensors.n),
      boundary_(graph.view().tensors.n),
      written_along_(graph.view().tensors.n, false),
      unscaled_(graph.view().tensors.n, false) {
  for (Value v = 0; v < places_.size(); ++v)
    if (graph.is_boundary(v) && graph.producer(v) == kNoNode) places_[v].push_back(boundary_place(v));
}

void Lowering::begin(const Group& group) {
  group_ = &group;
  text_.clear();
  conversions_ = 0;
  first_step_ = schedule_.size(When::run);
}

GroupNote Lowering::end() {
  for (uint32_t n : group_->nodes)
    for (uint32_t i = 0; i < graph_.node(n).n_out; ++i)
      if (const Value v = graph_.out(n, i); v != kNoValue) settle(v);
  if (conversions_ > 0) say(std::to_string(conversions_) + (conversions_ == 1 ? " conversion" : " conversions"));
  return {text_, false, first_step_, schedule_.size(When::run) - first_step_};
}

GroupNote Lowering::refuse(const std::string& reason) {
  for (uint32_t n : group_->nodes)
    for (uint32_t i = 0; i < graph_.node(n).n_out; ++i)
      if (const Value v = graph_.out(n, i); v != kNoValue && places_[v].empty()) write(v, plain(graph_.tensor(v)));
  return {reason, true, first_step_, 0};
}

/// A boundary value's result ends in the core's memory; copies of an updated parameter follow it.
void Lowering::settle(Value v) {
  if (!graph_.is_boundary(v) || places_[v].empty()) return;
  const Place home = boundary_place(v);
  const bool there = std::any_of(places_[v].begin(), places_[v].end(), [&](const Place& p) { return p.buffer == home.buffer; });
  if (!there) {
    convert_step(v, places_[v][0], home, When::run);
    places_[v].push_back(home);
  }
  if (graph_.tensor(v).alias_of >= 0) renew_copies(static_cast<Value>(graph_.tensor(v).alias_of));
}

void Lowering::renew_copies(Value updated) {
  const Place home = boundary_place(updated);
  for (const auto& [key, d] : derived_[updated]) derive_step(updated, d, When::run);
  if (written_along_[updated]) return;
  for (const Place& p : places_[updated])
    if (p.buffer != home.buffer) convert_step(updated, home, p, When::run);
}

Form Lowering::activation(Value v) const {
  need_f32(graph_, v);
  return packed(graph_.tensor(v), graph_.tensor(v).rank < 2 ? Type::f32 : compute_);
}

Form Lowering::image(Value v) const {
  Form f = activation(v);
  const int64_t C = graph_.tensor(v).rank == 4 ? graph_.tensor(v).dim[1] : 0;
  if (C > 0 && C < 4) f.channels = compute_ == Type::f32 ? 4 : 8;  // whole 16-byte accesses for the libraries' kernels
  return f;
}

Form Lowering::full(Value v) const {
  need_f32(graph_, v);
  return packed(graph_.tensor(v), Type::f32);
}

const Place* Lowering::find(Value v, const Form& form) const {
  for (const Place& p : places_[v])
    if (same_memory(graph_.tensor(v), p.form, form)) return &p;
  return nullptr;
}

Place Lowering::read(Value v, const Form& form) {
  if (const Place* p = find(v, form)) return *p;
  if (places_[v].empty()) throw Refused("reads value " + std::to_string(v) + ", which nothing has written");
  const TensorDesc& t = graph_.tensor(v);
  const bool made_once = lives_across_steps(t) && graph_.producer(v) == kNoNode;
  // From the full precision where it is there: converting twice would round twice.
  const Place from = places_[v][0];
  const Place to{schedule_.arena_buffer(bytes_in(t, form)), form};
  convert_step(v, from, to, made_once ? When::refresh : When::run);
  places_[v].push_back(to);
  return to;
}

Place Lowering::read(Value v) { return read(v, plain(graph_.tensor(v))); }

Place Lowering::derived(Value v, const std::string& key, uint64_t bytes, const KernelStep::Body& body) {
  auto& all = derived_[v];
  if (const auto found = all.find(key); found != all.end()) return found->second.place;
  const Derived made{{schedule_.arena_buffer(bytes), {}}, body};
  const bool once = lives_across_steps(graph_.tensor(v)) && graph_.producer(v) == kNoNode;
  derive_step(v, made, once ? When::refresh : When::run);
  all.emplace(key, made);
  return made.place;
}

void Lowering::derive_step(Value v, const Derived& d, When when) {
  const Place from = places_[v].at(0);
  conversions_ += when == When::run ? 1 : 0;
  schedule_.add(when, std::make_unique<KernelStep>(label("blocks"), std::vector<Operand>{{from.buffer, false}, {d.place.buffer, true}}, d.body));
}

Place Lowering::write_derived(Value v, const std::string& key, uint64_t bytes) {
  const Derived made{{schedule_.arena_buffer(bytes), {}}, {}};
  derived_[v].emplace(key, made);
  return made.place;
}

Place Lowering::boundary_place(Value v) {
  const int32_t alias = graph_.tensor(v).alias_of;
  const Value home = alias >= 0 ? static_cast<Value>(alias) : v;
  auto& buffer = boundary_[home];
  if (!buffer) buffer = schedule_.boundary_buffer(home);
  return {*buffer, home_form(graph_.tensor(home))};
}

Place Lowering::write(Value v, const Form& form) {
  Place p{0, form};
  const Place home = graph_.is_boundary(v) ? boundary_place(v) : Place{};
  const bool in_place = graph_.is_boundary(v) && same_memory(graph_.tensor(v), home.form, form);
  p.buffer = in_place ? home.buffer : schedule_.arena_buffer(bytes_in(graph_.tensor(v), form));
  places_[v].push_back(p);
  return p;
}

void Lowering::share(Value v, const Place& place) { places_[v].push_back(place); }

Place Lowering::make(uint64_t bytes) { return {schedule_.arena_buffer(bytes), {}}; }

const Place* Lowering::copy_to_write(Value v) {
  const Place home = boundary_place(v);
  const Place* only = nullptr;
  for (const Place& p : places_[v]) {
    if (p.buffer == home.buffer) continue;
    if (only != nullptr) return nullptr;
    only = &p;
  }
  if (only == nullptr) return nullptr;
  Form widened = only->form;
  widened.type = Type::f32;
  if (only->form.type == Type::f32 || !same_memory(graph_.tensor(v), widened, home.form)) return nullptr;
  written_along_[v] = true;
  return only;
}

std::string Lowering::label(const std::string& how) const {
  return (group_ == nullptr ? std::string("refresh") : graph_.name(group_->leader)) + " " + how;
}

void Lowering::kernel(const std::string& what, const std::vector<Use>& operands, KernelStep::Body body, When when) {
  std::vector<Operand> touched;
  for (const Use& u : operands) touched.push_back({u.place.buffer, u.writes});
  if (when == When::run) say(what);
  schedule_.add(when, std::make_unique<KernelStep>(label(what), touched, std::move(body)));
}

void Lowering::plan(const ConvProblem& p, const PlanPlaces& at) {
  auto choice = search_.add(p);
  const Direction d = p.direction;
  std::vector<Operand> touched{{at.x.buffer, d == Direction::input_gradient},
                               {at.w.buffer, d == Direction::weight_gradient},
                               {at.y.buffer, d == Direction::forward},
                               {schedule_.workspace_of(choice), true}};
  if (p.bias) touched.insert(touched.end(), {{at.bias.buffer, false}, {at.bias_f32.buffer, false}});
  if (p.add) touched.push_back({at.add.buffer, false});
  schedule_.add(When::run, std::make_unique<PlanStep>(graph_.name(group_->leader), touched, std::move(choice)));
}

void Lowering::marker(Marker m) {
  schedule_.add(When::run, std::make_unique<MarkerStep>(graph_.name(group_->leader), m));
}

void Lowering::convert_step(Value v, const Place& from, const Place& to, When when) {
  const TensorDesc& t = graph_.tensor(v);
  conversions_ += when == When::run ? 1 : 0;
  const std::string what = label("conversion " + text_of(t, from.form) + " > " + text_of(t, to.form));
  schedule_.add(when, std::make_unique<KernelStep>(what, std::vector<Operand>{{from.buffer, false}, {to.buffer, true}},
                                                   [t, f = from.form, g = to.form](const Operands& p, cudaStream_t s) {
                                                     return convert(t, p.at<void>(0), f, p.at<void>(1), g, s);
                                                   }));
}

bool Lowering::has_markers() const {
  for (uint32_t n = 0; n < graph_.nodes(); ++n)
    if (graph_.node(n).phase == Phase::marker) return true;
  return false;
}

Place Lowering::scaled(Value scale) {
  const Place own = read(scale, plain(Type::f32));
  if (settings_.precision != Precision::fp16) return own;
  if (!loss_scale_) {
    loss_scale_ = LossScale{{schedule_.kept_buffer(initial_loss_scale()), {}}, make(sizeof(float))};
    kernel("loss scale", {in(own), out(loss_scale_->state), out(loss_scale_->factor)}, [](const Operands& p, cudaStream_t s) {
      return loss_scale_begin(p.at(0), p.at<LossScaleState>(1), p.at(2), s);
    });
  }
  return loss_scale_->factor;
}

void Lowering::unscale_gradients() {
  if (!loss_scale_) return;
  std::vector<Use> uses{out(loss_scale_->state)};
  std::vector<int64_t> counts;
  for (Value v = 0; v < places_.size(); ++v) {
    if (graph_.tensor(v).role != Role::grad || places_[v].empty() || unscaled_[v]) continue;
    unscaled_[v] = true;
    uses.push_back(out(boundary_place(v)));
    counts.push_back(graph_.elements(v));
  }
  if (counts.empty()) return;
  kernel("unscale", uses, [counts](const Operands& p, cudaStream_t s) {
    std::vector<ScaledVector> vectors;
    for (std::size_t i = 0; i < counts.size(); ++i) vectors.push_back({p.at(1 + i), counts[i]});
    return unscale(vectors.data(), static_cast<int>(vectors.size()), p.at<LossScaleState>(0), s);
  });
}

/// Where a strategy may have changed the gradients since, what it made of them is looked at.
std::optional<Place> Lowering::skip_flag() {
  if (!loss_scale_) return std::nullopt;
  unscale_gradients();
  if (checked_ || !has_markers()) return loss_scale_->state;
  checked_ = true;
  std::vector<Use> uses{out(loss_scale_->state)};
  std::vector<int64_t> counts;
  for (Value v = 0; v < places_.size(); ++v) {
    if (graph_.tensor(v).role != Role::grad || places_[v].empty()) continue;
    uses.push_back(in(boundary_place(v)));
    counts.push_back(graph_.elements(v));
  }
  kernel("check", uses, [counts](const Operands& p, cudaStream_t s) {
    std::vector<ScaledVector> vectors;
    for (std::size_t i = 0; i < counts.size(); ++i) vectors.push_back({p.at(1 + i), counts[i]});
    return check_finite(vectors.data(), static_cast<int>(vectors.size()), p.at<LossScaleState>(0), s);
  });
  return loss_scale_->state;
}

void Lowering::finish() {
  if (!loss_scale_) return;
  kernel("next loss scale", {out(loss_scale_->state)}, [](const Operands& p, cudaStream_t s) {
    return loss_scale_end(p.at<LossScaleState>(0), s);
  });
}

void Lowering::say(const std::string& text) { text_ += (text_.empty() ? "" : ", ") + text; }

void need_f32(const GraphIndex& g, Value v) {
  if (v != kNoValue && g.tensor(v).dtype != DType::f32)
    throw Refused(std::string("takes values of f32 from the graph, and one is ") + sdk::dtype_name(g.tensor(v).dtype));
}

void need_rank(const GraphIndex& g, Value v, uint32_t rank) {
  if (g.tensor(v).rank != rank)
    throw Refused("takes values of rank " + std::to_string(rank) + ", and one has " + std::to_string(g.tensor(v).rank));
}

}  // namespace convoy::cuda
