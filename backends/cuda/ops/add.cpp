// add with its relu, add_n and weighted_sum: sums of values of one shape.
#include "lowering.hpp"

#include <algorithm>
#include <span>

namespace convoy::cuda {

namespace {

void two(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t n = group.leader;
  const Value a = g.in(n, 0), b = g.in(n, 1), y = g.out(group.nodes.back(), 0);
  const Form form = l.activation(y);
  const Extent e(g.tensor(y));
  const bool relu = group.member(g, Op::relu) != kNoNode;
  l.kernel("add", {Lowering::in(l.read(a, form)), Lowering::in(l.read(b, form)), Lowering::out(l.write(y, form))},
           [=, type = form.type](const Operands& p, cudaStream_t s) {
             AddArgs r;
             r.a = {p.at<void>(0), 0}, r.b = {p.at<void>(1), 0}, r.y = {p.at<void>(2), 0}, r.relu = relu;
             r.type = type, r.rows = e.rows(), r.c = e.c;
             return add(r, s);
           });
}

/// More terms than a kernel takes: the rest are added to what is there.
void sum(Lowering& l, uint32_t n, const std::vector<float>& weights) {
  const GraphIndex& g = l.graph();
  const Value y = g.out(n, 0);
  const Form form = l.activation(y);
  const Extent e(g.tensor(y));
  const Place to = l.write(y, form);
  const uint32_t terms = g.node(n).n_in;
  for (uint32_t first = 0; first < terms;) {
    const uint32_t taken = first == 0 ? 0 : 1;
    const uint32_t more = std::min<uint32_t>(terms - first, static_cast<uint32_t>(kMaxSources) - taken);
    std::vector<Lowering::Use> uses{Lowering::out(to)};
    WeightedSumArgs args;
    args.type = form.type, args.rows = e.rows(), args.c = e.c, args.n = static_cast<int>(taken + more);
    for (uint32_t i = 0; i < more; ++i) {
      uses.push_back(Lowering::in(l.read(g.in(n, first + i), form)));
      args.weight[taken + i] = weights[first + i];
    }
    l.kernel("sum", uses, [args, taken, more](const Operands& p, cudaStream_t s) {
      WeightedSumArgs a = args;
      if (taken > 0) a.x[0] = {p.at<void>(0), 0};
      for (uint32_t i = 0; i < more; ++i) a.x[taken + i] = {p.at<void>(1 + i), 0};
      a.y = {p.at<void>(0), 0};
      return weighted_sum(a, s);
    });
    first += more;
  }
}

void add_n(Lowering& l, const Group& group) {
  sum(l, group.leader, std::vector<float>(l.graph().node(group.leader).n_in, 1.0f));
}

void weighted(Lowering& l, const Group& group) {
  const auto attrs = l.graph().attrs<WeightedSumAttrs>(group.leader);
  std::vector<float> weights;
  for (uint32_t i = 0; i < l.graph().node(group.leader).n_in; ++i) weights.push_back(static_cast<float>(attrs.weight[i]));
  sum(l, group.leader, weights);
}

const OpLowering kLowerings[] = {{Op::add, two}, {Op::add_n, add_n}, {Op::weighted_sum, weighted}};

}  // namespace

std::span<const OpLowering> add_lowerings() { return kLowerings; }

}  // namespace convoy::cuda
