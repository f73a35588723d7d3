#include "fusion.hpp"

#include <algorithm>

namespace convoy::cpu {

namespace {

class Grouping {
 public:
  explicit Grouping(const GraphIndex& g) : g_(g), taken_(g.nodes(), false), forward_relu_(g.nodes(), kNoNode) {}

  std::vector<Group> run() {
    // Batch normalisation first: a relu_grad costs nothing inside its backward pass, and a sum could take it, too.
    for (uint32_t n = 0; n < g_.nodes(); ++n)
      if (g_.node(n).op == Op::batch_norm) chain(n, {Op::relu});
    for (uint32_t n = 0; n < g_.nodes(); ++n)
      if (g_.node(n).op == Op::batch_norm_grad) with_relu_grad(n);
    for (uint32_t n = 0; n < g_.nodes(); ++n)
      if (!taken_[n]) start(n);
    std::sort(groups_.begin(), groups_.end(), [](const Group& a, const Group& b) { return a.position < b.position; });
    return std::move(groups_);
  }

 private:
  void start(uint32_t n) {
    switch (g_.node(n).op) {
      case Op::conv2d:
        return g_.training() ? chain(n, {Op::bias_add, Op::relu})
                             : chain(n, {Op::bias_add, Op::batch_norm_infer, Op::add, Op::relu});
      case Op::linear: return chain(n, {Op::bias_add, Op::relu});
      case Op::batch_norm_infer:
      case Op::add: return chain(n, {Op::relu});
      case Op::add_n: return chain(n, {Op::relu_grad});
      case Op::conv2d_wgrad:
      case Op::linear_wgrad: return with_bias_grad(n);
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
    }
    if (g_.node(n).op == Op::batch_norm && group.nodes.size() == 2) forward_relu_[n] = group.nodes[1];
    groups_.push_back(std::move(group));
  }

  /// dy -> relu_grad -> batch_norm_grad, where x -> batch_norm -> relu is a group.
  void with_relu_grad(uint32_t n) {
    Group group{n, {n}, n};
    taken_[n] = true;
    const uint32_t before = g_.producer(g_.in(n, 0));
    if (before != kNoNode && !taken_[before] && g_.node(before).op == Op::relu_grad &&
        g_.sole_consumer(g_.out(before, 0)) == n && mirrors(before, n)) {
      taken_[before] = true;
      group.nodes.insert(group.nodes.begin(), before);
    }
    groups_.push_back(std::move(group));
  }

  bool mirrors(uint32_t relu_grad, uint32_t batch_norm_grad) const {
    const uint32_t relu = g_.producer(g_.in(relu_grad, 1));
    if (relu == kNoNode || g_.node(relu).op != Op::relu) return false;
    const uint32_t norm = g_.producer(g_.in(relu, 0));
    return norm != kNoNode && forward_relu_[norm] == relu && g_.in(norm, 0) == g_.in(batch_norm_grad, 1) &&
           g_.out(norm, 1) == g_.in(batch_norm_grad, 3) && g_.out(norm, 2) == g_.in(batch_norm_grad, 4);
  }

  /// The gradient of the bias comes with that of the weights. At the earlier of the two, so that a marker between
  /// them finds both written.
  void with_bias_grad(uint32_t n) {
    Group group{n, {n}, n};
    taken_[n] = true;
    for (uint32_t other : g_.consumers(g_.in(n, 0))) {
      if (taken_[other] || g_.node(other).op != Op::bias_grad || g_.node(other).phase != g_.node(n).phase) continue;
      const uint32_t earlier = std::min(n, other);
      if (!exists_before(g_.in(n, 1), earlier)) continue;
      taken_[other] = true;
      group.nodes = {earlier, std::max(n, other)};
      group.position = earlier;
      break;
    }
    groups_.push_back(std::move(group));
  }

  bool exists_before(Value v, uint32_t position) const {
    return g_.producer(v) == kNoNode || g_.producer(v) < position;
  }

  const GraphIndex& g_;
  std::vector<bool> taken_;
  std::vector<uint32_t> forward_relu_;  // by batch_norm: the relu of its group
  std::vector<Group> groups_;
};

}  // namespace

std::vector<Group> group_nodes(const GraphIndex& g) { return Grouping(g).run(); }

}  // namespace convoy::cpu
