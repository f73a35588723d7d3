// add, add_n and weighted_sum by own flat loops, with the ReLU or its gradient that follows in the same pass.
// All operands are taken in one layout; in equal layouts an elementwise loop needs no shapes.
#include "lowering.hpp"

#include "kernels/flat.hpp"
#include "kernels/parallel.hpp"

#include <array>

namespace convoy::cpu {

namespace {

constexpr std::size_t kMostTerms = 64;  // of one sum; the addresses are gathered on the stack

/// The layout in which most of the operands lie; of equals that which is not plain.
Desc common_layout(const Lowering& l, const std::vector<Value>& values) {
  Desc best = l.preferred(values[0]);
  int best_votes = 0;
  for (Value candidate : values) {
    const Desc d = l.preferred(candidate);
    int votes = layout_of(d) == Layout::plain ? 0 : 1;
    for (Value v : values) votes += same_memory(l.preferred(v), d) ? 2 : 0;
    if (votes > best_votes) best = d;
    best_votes = std::max(best_votes, votes);
  }
  return best;
}

std::vector<Value> terms_of(const GraphIndex& g, uint32_t n) {
  std::vector<Value> out;
  for (uint32_t i = 0; i < g.node(n).n_in; ++i) out.push_back(g.in(n, i));
  if (out.size() > kMostTerms) throw Refused("adds up at most " + std::to_string(kMostTerms) + " values");
  return out;
}

/// Reads all of `terms`, the output over the first of them that nobody needs any more.
std::vector<Tensor> operands_of(Lowering& l, const std::vector<Value>& terms, const Desc& desc, Value y) {
  std::vector<Tensor> out;
  for (Value v : terms) out.push_back(l.read(v, desc));
  for (std::size_t i = 0; i < terms.size(); ++i)
    if (l.is_free(terms[i], out[i])) {
      out.push_back(l.write_over(y, desc, terms[i], out[i]));
      return out;
    }
  out.push_back(l.write(y, desc));
  return out;
}

std::array<const float*, kMostTerms> pointers(const Operands& p, std::size_t terms) {
  std::array<const float*, kMostTerms> x{};
  for (std::size_t i = 0; i < terms; ++i) x[i] = p.at(i);
  return x;
}

void sum(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const auto terms = terms_of(g, group.leader);
  const bool relu = group.member(g, Op::relu) != kNoNode;
  const Desc desc = common_layout(l, terms);
  const auto operands = operands_of(l, terms, desc, g.out(group.nodes.back(), 0));
  const int64_t n = padded_elements(desc);
  const auto count = terms.size();
  const auto loop = relu ? flat().sum_relu : flat().sum;
  l.kernel(relu ? "sum relu" : "sum", operands, [=](const Operands& p) {
    const auto x = pointers(p, count);
    parallel(n, kGrain, [&](int64_t begin, int64_t end) {
      loop(p.at(count) + begin, x.data(), static_cast<int64_t>(count), begin, end - begin);
    });
  });
}

/// add_n, or a lone gradient behind it that passes where y is positive.
void sum_n(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const uint32_t relu_grad = group.member(g, Op::relu_grad);
  if (relu_grad == kNoNode) return sum(l, group);
  const auto terms = terms_of(g, group.leader);
  const Value y = g.in(relu_grad, 1);
  const Desc desc = l.preferred(y);
  const Tensor passed = l.read(y, desc);
  auto operands = operands_of(l, terms, desc, g.out(relu_grad, 0));
  operands.push_back(passed);
  const int64_t n = padded_elements(desc);
  const auto count = terms.size();
  l.kernel("sum relu_grad", operands, [=](const Operands& p) {
    const auto x = pointers(p, count);
    parallel(n, kGrain, [&](int64_t begin, int64_t end) {
      flat().sum_relu_grad(p.at(count) + begin, x.data(), static_cast<int64_t>(count), begin, p.at(count + 1) + begin,
                           end - begin);
    });
  });
}

void weighted_sum(Lowering& l, const Group& group) {
  const GraphIndex& g = l.graph();
  const auto attrs = g.attrs<WeightedSumAttrs>(group.leader);
  const auto terms = terms_of(g, group.leader);
  if (attrs.n != terms.size() || terms.size() > 8) throw Refused("has another number of weights than of values");
  const Desc desc = common_layout(l, terms);
  const auto operands = operands_of(l, terms, desc, g.out(group.leader, 0));
  const int64_t n = padded_elements(desc);
  const auto count = terms.size();
  l.kernel("weighted sum", operands, [=](const Operands& p) {
    const auto x = pointers(p, count);
    parallel(n, kGrain, [&](int64_t begin, int64_t end) {
      flat().weighted_sum(p.at(count) + begin, x.data(), attrs.weight, static_cast<int64_t>(count), begin, end - begin);
    });
  });
}

const OpLowering kLowerings[] = {{Op::add, sum}, {Op::add_n, sum_n}, {Op::weighted_sum, weighted_sum}};

}  // namespace

std::span<const OpLowering> add_lowerings() { return kLowerings; }

}  // namespace convoy::cpu
