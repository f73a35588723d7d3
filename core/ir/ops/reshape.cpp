// reshape: the same elements in row-major order; its gradient is a reshape back.
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

#include <fmt/format.h>

#include <algorithm>

namespace convoy::ir {

namespace {

void infer(Inference& n) {
  const auto a = n.attrs<ReshapeAttrs>();
  if (a.rank > 6) n.refuse(fmt::format("{} dimensions; at most 6 are allowed", a.rank));
  const std::vector<int64_t> dims(a.dim, a.dim + a.rank);
  for (int64_t d : dims)
    if (d < 1) n.refuse(fmt::format("the new shape {} has a dimension below 1", shape_text(dims)));
  const int64_t elements = saturating_product(dims);
  if (elements != n.in(0).elements())
    n.refuse(fmt::format("{} has {} elements, the input {}", shape_text(dims), elements, n.in(0).elements()));
  n.give(n.in(0).dtype, dims);
}

void gradient(Backward& b) {
  const auto& dims = b.tensor(b.in(0)).dims;
  ReshapeAttrs a{};
  a.struct_size = sizeof a;
  a.rank = static_cast<uint32_t>(dims.size());
  std::copy(dims.begin(), dims.end(), a.dim);
  b.set(0, b.emit_one(Op::reshape, {b.dy()}, pack(a), "grad"));
}

bool keeps_shape(const Graph& g, const Node& n) { return g[n.in[0]].dims == g[n.out[0]].dims; }

double same(const std::vector<double>& in) { return in[0]; }

const OpRule kRules[] = {
    {.op = Op::reshape, .name = "reshape", .min_inputs = 1, .max_inputs = 1, .attrs_size = sizeof(ReshapeAttrs),
     .infer = infer, .gradient = gradient, .identity = keeps_shape, .constant = same},
};

}  // namespace

std::span<const OpRule> reshape_rules() { return kRules; }

}  // namespace convoy::ir
