// reshape: the same elements in row-major order; its gradient is a reshape back.
#include "ir/op_rule.hpp"

#include <convoy/ops.hpp>

#include <fmt/format.h>

namespace convoy::ir {

namespace {

void infer(Inference& n) {
  const auto a = n.attrs<ReshapeAttrs>();
  if (a.rank > 6) n.refuse(fmt::format("{} dimensions; at most 6 are allowed", a.rank));
  const std::vector<int64_t> dims(a.dim, a.dim + a.rank);
  Tensor t;
  for (int64_t d : dims)
    if (d < 1) n.refuse(fmt::format("the new shape {} has an empty dimension", shape_text(dims)));
  t.dims = dims;
  if (t.elements() != n.in(0).elements())
    n.refuse(fmt::format("{} has {} elements, the input {}", shape_text(dims), t.elements(), n.in(0).elements()));
  n.give(n.in(0).dtype, dims);
}

void gradient(Backward& b) {
  const auto& dims = b.tensor(b.in(0)).dims;
  ReshapeAttrs a{};
  a.struct_size = sizeof a;
  a.rank = static_cast<uint32_t>(dims.size());
  for (std::size_t i = 0; i < dims.size(); ++i) a.dim[i] = dims[i];
  b.set(0, b.emit_one(Op::reshape, {b.dy(0)}, pack(a), "grad"));
}

const OpRule kRules[] = {{Op::reshape, "reshape", 1, 1, sizeof(ReshapeAttrs), infer, gradient}};

}  // namespace

std::span<const OpRule> reshape_rules() { return kRules; }

}  // namespace convoy::ir
