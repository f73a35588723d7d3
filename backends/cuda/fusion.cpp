#include "fusion.hpp"

#include <algorithm>

namespace convoy::cuda {

namespace {

class Grouping {
 public:
  explicit Grouping(const GraphIndex& g) : g_(g), taken_(g.nodes(), false), norm_of_relu_(g.nodes(), kNoNode) {}

  std::vector<Group> run() {
    // Batch normalisation first: a sum or a relu costs nothing inside its passes, and other chains could take them, too.
    for (uint32_t n = 0; n < g_.nodes(); ++n)
      if (g_.node(n).op == Op::batch_norm && !taken_[n]) chain(n, {Op::add, Op::relu});
    for (uint32_t n = 0; n < g_.nodes(); ++n)
      if (g_.node(n).op == Op::batch_norm_grad) batch_norm_grad(n);
    for (uint32_t n = 0; n < g_.nodes(); ++n)
      if (g_.node(n).op == Op::bias_grad && !taken_[n]) bias_grad(n);
    for (uint32_t n = 0; n < g_.nodes(); ++n)
      if (g_.node(n).op == Op::relu_grad && !taken_[n]) relu_grad(n);
    for (uint32_t n = 0; n < g_.nodes(); ++n)
      if (!taken_[n]) start(n);
    std::stable_sort(groups_.begin(), groups_.end(), [](const Group& a, const Group& b) { return a.position < b.position; });
    return std::move(groups_);
  }

 private:
  void start(uint32_t n) {
    switch (g_.node(n).op) {
      case Op::conv2d:
        return g_.training() ? chain(n, {Op::bias_add, Op::relu})
                             : chain(n, {Op::bias_add, Op::batch_norm_infer, Op::add, Op::relu});
      case Op::linear: return chain(n, {Op::bias_add, Op::relu});
      case Op::batch_norm_infer: return chain(n, {Op::add, Op::relu});
      case Op::add: return chain(n, {Op::relu});
      case Op::sgd: return updates(n);
      default: return chain(n, {});
    }
  }

  /// True where `n` may continue a chain that has reached value `v`: it reads `v` once, as its first operand (an
  /// add: as either), and folded operands do not change within the graph.
  bool continues(uint32_t leader, uint32_t n, Value v) const {
    const bool first = g_.in(n, 0) == v, second = g_.in(n, 1) == v;
    switch (g_.node(n).op) {
      case Op::add: return first != second;
      case Op::batch_norm_infer: {
        bool constant = first && g_.is_constant(g_.in(leader, 1));
        for (uint32_t i = 1; i < 5; ++i) constant = constant && g_.is_constant(g_.in(n, i));
        return constant;
      }
      default: return first && !second;
    }
  }

  /// The group that begins at `n` and takes, in this order, those of `ops` that follow.
  void chain(uint32_t n, std::initializer_list<Op> ops) {
    Group group{n, {n}, n};
    taken_[n] = true;
    Value reached = g_.out(n, 0);
    for (Op op : ops) {
      const uint32_t next = reached == kNoValue ? kNoNode : g_.sole_consumer(reached);
      if (next == kNoNode || taken_[next] || g_.node(next).op != op || !continues(n, next, reached)) continue;
      taken_[next] = true;
      group.nodes.push_back(next);
      group.position = next;
      reached = g_.out(next, 0);
      if (op == Op::relu && g_.node(n).op == Op::batch_norm) norm_of_relu_[next] = n;
    }
    groups_.push_back(std::move(group));
  }

  /// Puts `n`'s group where `n` stands, or higher up where a relu_grad in front of it does: there others find its result.
  void with_relu_grad(uint32_t n, uint32_t relu_grad) {
    Group group{n, {n}, n};
    taken_[n] = true;
    if (relu_grad != kNoNode) {
      taken_[relu_grad] = true;
      group.nodes.insert(group.nodes.begin(), relu_grad);
      group.position = relu_grad;
      take_sum(group, relu_grad);
    }
    groups_.push_back(std::move(group));
  }

  /// The sum of two gradients that only `reader` reads.
  void take_sum(Group& group, uint32_t reader) {
    const uint32_t sum = g_.producer(g_.in(reader, 0));
    if (sum == kNoNode || taken_[sum] || g_.node(sum).op != Op::add_n || g_.node(sum).n_in != 2) return;
    if (g_.sole_consumer(g_.out(sum, 0)) != reader || g_.in(sum, 0) == g_.in(sum, 1)) return;
    taken_[sum] = true;
    group.nodes.insert(group.nodes.begin(), sum);
  }

  void batch_norm_grad(uint32_t n) {
    const uint32_t before = g_.producer(g_.in(n, 0));
    const bool fits = before != kNoNode && !taken_[before] && g_.node(before).op == Op::relu_grad && mirrors(before, n) &&
                      !g_.is_boundary(g_.out(before, 0));
    with_relu_grad(n, fits ? before : kNoNode);
  }

  bool mirrors(uint32_t relu_grad, uint32_t batch_norm_grad) const {
    const uint32_t relu = g_.producer(g_.in(relu_grad, 1));
    const uint32_t norm = relu == kNoNode ? kNoNode : norm_of_relu_[relu];
    return norm != kNoNode && g_.in(norm, 0) == g_.in(batch_norm_grad, 1) && g_.out(norm, 1) == g_.in(batch_norm_grad, 3) &&
           g_.out(norm, 2) == g_.in(batch_norm_grad, 4);
  }

  void bias_grad(uint32_t n) {
    const uint32_t before = g_.producer(g_.in(n, 0));
    const bool fits = before != kNoNode && !taken_[before] && g_.node(before).op == Op::relu_grad;
    Group group{n, {n}, n};
    taken_[n] = true;
    if (fits) {
      taken_[before] = true;
      group.nodes.insert(group.nodes.begin(), before);
      group.position = before;
    }
    groups_.push_back(std::move(group));
  }

  /// Whether two updates differ in nothing but their operands.
  bool alike(uint32_t a, uint32_t b) const {
    if (g_.node(b).op != Op::sgd || g_.in(a, 3) != g_.in(b, 3) || (g_.in(a, 2) == kNoValue) != (g_.in(b, 2) == kNoValue)) return false;
    const auto x = g_.attrs<SgdAttrs>(a), y = g_.attrs<SgdAttrs>(b);
    return x.nesterov == y.nesterov && x.momentum == y.momentum && x.dampening == y.dampening && x.weight_decay == y.weight_decay;
  }

  /// Stands at its last node: by then every gradient is there, and none of the parameters is read any more.
  void updates(uint32_t n) {
    Group group{n, {}, n};
    for (uint32_t next = n; next < g_.nodes() && !taken_[next] && alike(n, next); ++next) {
      taken_[next] = true;
      group.nodes.push_back(next);
      group.position = next;
    }
    groups_.push_back(std::move(group));
  }

  void relu_grad(uint32_t n) {
    Group group{n, {n}, n};
    taken_[n] = true;
    take_sum(group, n);
    groups_.push_back(std::move(group));
  }

  const GraphIndex& g_;
  std::vector<bool> taken_;
  std::vector<uint32_t> norm_of_relu_;  // by relu: the batch_norm of its group
  std::vector<Group> groups_;
};

}  // namespace

std::vector<Group> group_nodes(const GraphIndex& g, bool fuse) {
  if (fuse) return Grouping(g).run();
  std::vector<Group> out;
  for (uint32_t n = 0; n < g.nodes(); ++n) out.push_back({n, {n}, n});
  return out;
}

}  // namespace convoy::cuda
