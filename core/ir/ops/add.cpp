// add of two, add_n of many, weighted_sum: equal shapes throughout.
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

#include <fmt/format.h>

#include <cmath>

namespace convoy::ir {

namespace {

constexpr std::size_t kMostWeights = 8;  // WeightedSumAttrs::weight

void infer_equal(Inference& n) {
  n.need_float(0);
  for (std::size_t i = 1; i < n.inputs(); ++i) n.need_alike(0, i);
  n.give_like(0);
}

void infer_weighted(Inference& n) {
  const auto a = n.attrs<WeightedSumAttrs>();
  if (n.inputs() > kMostWeights || a.n != n.inputs())
    n.refuse(fmt::format("{} weights for {} inputs; equally many are expected, at most {}", a.n, n.inputs(), kMostWeights));
  for (uint32_t i = 0; i < a.n; ++i)
    if (!std::isfinite(a.weight[i])) n.refuse(fmt::format("weight {} is {}; it must be finite", i, a.weight[i]));
  infer_equal(n);
}

void gradient_add(Backward& b) {
  for (std::size_t i = 0; i < b.node().in.size(); ++i) b.set(i, b.dy());
}

void gradient_weighted(Backward& b) {
  const auto a = b.attrs<WeightedSumAttrs>();
  for (uint32_t i = 0; i < a.n; ++i) {
    if (!b.needed(i)) continue;
    WeightedSumAttrs one{};
    one.struct_size = sizeof one;
    one.n = 1;
    one.weight[0] = a.weight[i];
    b.set(i, b.emit_one(Op::weighted_sum, {b.dy()}, pack(one), "grad"));
  }
}

bool is_single(const Graph&, const Node& n) { return n.in.size() == 1; }

bool has_weight_one(const Graph&, const Node& n) { return n.in.size() == 1 && unpack<WeightedSumAttrs>(n).weight[0] == 1; }

double sum_of_two(const std::vector<double>& in) { return in[0] + in[1]; }

const OpRule kRules[] = {
    {.op = Op::add, .name = "add", .min_inputs = 2, .max_inputs = 2,
     .infer = infer_equal, .gradient = gradient_add, .constant = sum_of_two},
    {.op = Op::add_n, .name = "add_n", .min_inputs = 1, .max_inputs = kAnyNumber, .earliest = Phase::backward,
     .infer = infer_equal, .identity = is_single},
    {.op = Op::weighted_sum, .name = "weighted_sum", .min_inputs = 1, .max_inputs = kAnyNumber,
     .attrs_size = sizeof(WeightedSumAttrs),
     .infer = infer_weighted, .gradient = gradient_weighted, .identity = has_weight_one},
};

}  // namespace

std::span<const OpRule> add_rules() { return kRules; }

}  // namespace convoy::ir
