// Update rules, in place on the core's f32 parameters and states; where they can, they write the working copy that the
// next step computes with along.
#include "lowering.hpp"
#include "sgd_many.hpp"

#include <span>

namespace convoy::cuda {

namespace {

/// Operands of an update rule in the order of its node's inputs, then the working copy and the skip flag.
struct Update {
  Update(Lowering& l, uint32_t n, uint32_t inputs) {
    const GraphIndex& g = l.graph();
    const auto skip = l.skip_flag();
    for (uint32_t i = 0; i < inputs; ++i) {
      const Value v = g.in(n, i);
      index[i] = v == kNoValue ? kAbsent : uses.size();
      if (v == kNoValue) continue;
      need_f32(g, v);
      const bool updated = is_updated(g, n, v);
      const Place p = l.read(v, order_of(l, g.in(n, 0), v));
      uses.push_back(updated ? Lowering::out(p) : Lowering::in(p));
    }
    for (uint32_t i = 0; i < g.node(n).n_out; ++i) {
      const Value v = g.out(n, i);
      if (v == kNoValue) continue;
      if (g.tensor(v).alias_of < 0) throw Refused("updates a value that is not the core's");
      l.write(v, home_form(g.tensor(static_cast<Value>(g.tensor(v).alias_of))));
    }
    count = g.elements(g.in(n, 0));
    copy = skip_at = kAbsent;
    if (const Place* p = l.copy_to_write(g.in(n, 0))) {
      copy = uses.size();
      copy_type = p->form.type;
      uses.push_back(Lowering::out(*p));
    }
    if (skip) {
      skip_at = uses.size();
      uses.push_back(Lowering::in(*skip));
    }
  }

  static bool is_updated(const GraphIndex& g, uint32_t n, Value v) {
    for (uint32_t i = 0; i < g.node(n).n_out; ++i)
      if (const Value o = g.out(n, i); o != kNoValue && g.tensor(o).alias_of == static_cast<int32_t>(v)) return true;
    return false;
  }
  /// Everything of a parameter's shape in the order in which the core has the parameter.
  static Form order_of(const Lowering& l, Value p, Value v) {
    return home_form(l.graph().tensor(p)).channels_last && l.graph().tensor(v).rank == 4 ? l.full(v) : plain(Type::f32);
  }

  /// Fills what every rule has; null where the node lacks an input.
  void fill(UpdateArgs& a, const Operands& p, uint32_t lr) const {
    a.p = at(p, 0), a.grad = at(p, 1), a.lr = at(p, lr), a.count = count;
    if (copy != kAbsent) a.copy = p.at<void>(copy), a.copy_type = copy_type;
    if (skip_at != kAbsent) a.skip = p.at<int32_t>(skip_at);
  }
  float* at(const Operands& p, uint32_t input) const { return index[input] == kAbsent ? nullptr : p.at(index[input]); }

  static constexpr std::size_t kAbsent = SIZE_MAX;
  std::vector<Lowering::Use> uses;
  std::size_t index[8] = {};
  std::size_t copy = kAbsent, skip_at = kAbsent;
  Type copy_type = Type::bf16;
  int64_t count = 0;
};

void sgd_node(Lowering& l, const Group& group) {
  const auto attrs = l.graph().attrs<SgdAttrs>(group.leader);
  std::vector<Update> all;
  std::vector<std::size_t> begins;
  std::vector<Lowering::Use> uses;
  for (uint32_t n : group.nodes) {
    begins.push_back(uses.size());
    all.emplace_back(l, n, 4);
    uses.insert(uses.end(), all.back().uses.begin(), all.back().uses.end());
  }
  l.kernel("sgd of " + std::to_string(all.size()), uses, [all, begins, attrs](const Operands& p, cudaStream_t s) {
    std::vector<SgdArgs> args(all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
      SgdArgs& a = args[i];
      const Operands own = p.from(begins[i]);
      all[i].fill(a, own, 3);
      a.momentum_buffer = all[i].at(own, 2);
      a.momentum = attrs.momentum, a.dampening = attrs.dampening, a.weight_decay = attrs.weight_decay, a.nesterov = attrs.nesterov != 0;
    }
    return args.size() == 1 ? sgd(args[0], s) : sgd_many(args.data(), static_cast<int>(args.size()), s);
  });
}

void lars_node(Lowering& l, const Group& group) {
  const auto attrs = l.graph().attrs<LarsAttrs>(group.leader);
  Update u(l, group.leader, 4);
  const std::size_t scratch = u.uses.size();
  u.uses.push_back(Lowering::out(l.make(lars_scratch_bytes(u.count))));
  l.kernel("lars", u.uses, [u, attrs, scratch](const Operands& p, cudaStream_t s) {
    LarsArgs a;
    u.fill(a, p, 3);
    a.momentum_buffer = u.at(p, 2), a.scratch = p.at<void>(scratch);
    a.momentum = attrs.momentum, a.weight_decay = attrs.weight_decay, a.trust = attrs.trust, a.eps = attrs.eps;
    return lars(a, s);
  });
}

void rmsprop_node(Lowering& l, const Group& group) {
  const auto attrs = l.graph().attrs<RmspropAttrs>(group.leader);
  const Update u(l, group.leader, 5);
  l.kernel("rmsprop", u.uses, [u, attrs](const Operands& p, cudaStream_t s) {
    RmspropArgs a;
    u.fill(a, p, 4);
    a.square_avg = u.at(p, 2), a.momentum_buffer = u.at(p, 3);
    a.alpha = attrs.alpha, a.eps = attrs.eps, a.momentum = attrs.momentum, a.weight_decay = attrs.weight_decay;
    return rmsprop(a, s);
  });
}

void adamw_node(Lowering& l, const Group& group) {
  const auto attrs = l.graph().attrs<AdamwAttrs>(group.leader);
  const Update u(l, group.leader, 6);
  l.kernel("adamw", u.uses, [u, attrs](const Operands& p, cudaStream_t s) {
    AdamwArgs a;
    u.fill(a, p, 4);
    a.m = u.at(p, 2), a.v = u.at(p, 3), a.t = u.at(p, 5);
    a.beta1 = attrs.beta1, a.beta2 = attrs.beta2, a.eps = attrs.eps, a.weight_decay = attrs.weight_decay;
    return adamw(a, s);
  });
}

void ema_node(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const double decay = g.attrs<EmaAttrs>(n).decay;
  const int64_t count = g.elements(g.in(n, 0));
  const Form form = l.full(g.in(n, 0));
  const Place shadow = l.read(g.in(n, 0), form), p = l.read(g.in(n, 1), form);
  l.write(g.out(n, 0), form);
  l.kernel("ema", {Lowering::out(shadow), Lowering::in(p)}, [=](const Operands& q, cudaStream_t s) {
    EmaArgs a;
    a.shadow = q.at(0), a.p = q.at(1), a.count = count, a.decay = decay;
    return ema(a, s);
  });
}

void unscale_node(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const double clip = g.attrs<UnscaleCheckAttrs>(n).clip_norm;
  l.unscale_gradients();
  const int vectors = static_cast<int>(g.node(n).n_in) - 1;
  std::vector<Lowering::Use> uses{Lowering::in(l.read(g.in(n, 0))), Lowering::out(l.write(g.out(n, 0), plain(Type::i32))),
                                  Lowering::out(l.write(g.out(n, 1), plain(Type::f32))),
                                  Lowering::out(l.make(unscale_check_scratch_bytes(vectors)))};
  std::vector<int64_t> counts;
  for (uint32_t i = 1; i < g.node(n).n_in; ++i) {
    need_f32(g, g.in(n, i));
    uses.push_back(Lowering::in(l.read(g.in(n, i), home_form(g.tensor(g.in(n, i))))));
    counts.push_back(g.elements(g.in(n, i)));
  }
  l.kernel("unscale_check", uses, [=](const Operands& p, cudaStream_t s) {
    std::vector<Vector> grads;
    for (std::size_t i = 0; i < counts.size(); ++i) grads.push_back({p.at<void>(4 + i), counts[i]});
    UnscaleCheckArgs a;
    a.grads = grads.data(), a.n = vectors, a.scale = p.at(0), a.clip_norm = clip;
    a.not_finite = p.at<int32_t>(1), a.factor = p.at(2), a.scratch = p.at<void>(3);
    return unscale_check(a, s);
  });
}

const OpLowering kLowerings[] = {{Op::sgd, sgd_node},     {Op::lars, lars_node}, {Op::rmsprop, rmsprop_node},
                                 {Op::adamw, adamw_node}, {Op::ema, ema_node},   {Op::unscale_check, unscale_node}};

}  // namespace

std::span<const OpLowering> update_lowerings() { return kLowerings; }

}  // namespace convoy::cuda
