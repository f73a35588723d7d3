// add of two, add_n of many, weighted_sum: equal shapes throughout.
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

#include <fmt/format.h>

namespace convoy::ir {

namespace {

constexpr std::size_t kMostWeights = 8;  // WeightedSumAttrs::weight

void infer_equal(Inference& n) {
  for (std::size_t i = 1; i < n.inputs(); ++i) n.need_same_shape(0, i);
  n.give_like(0);
}

void infer_weighted(Inference& n) {
  const auto a = n.attrs<WeightedSumAttrs>();
  if (n.inputs() > kMostWeights || a.n != n.inputs())
    n.refuse(fmt::format("{} weights for {} inputs; equally many are expected, at most {}", a.n, n.inputs(), kMostWeights));
  infer_equal(n);
}

void gradient_add(Backward& b) {
  for (std::size_t i = 0; i < b.node().in.size(); ++i) b.set(i, b.dy(0));
}

void gradient_weighted(Backward& b) {
  const auto a = b.attrs<WeightedSumAttrs>();
  for (uint32_t i = 0; i < a.n; ++i) {
    if (!b.needed(i)) continue;
    WeightedSumAttrs one{};
    one.struct_size = sizeof one;
    one.n = 1;
    one.weight[0] = a.weight[i];
    b.set(i, b.emit_one(Op::weighted_sum, {b.dy(0)}, pack(one), "grad"));
  }
}

const OpRule kRules[] = {
    {Op::add, "add", 2, 2, 0, infer_equal, gradient_add},
    {Op::add_n, "add_n", 1, kAnyNumber, 0, infer_equal, gradient_add},
    {Op::weighted_sum, "weighted_sum", 1, kAnyNumber, sizeof(WeightedSumAttrs), infer_weighted, gradient_weighted},
};

}  // namespace

std::span<const OpRule> add_rules() { return kRules; }

}  // namespace convoy::ir
