// max_pool and its gradient.
#include "ir/pool_rule.hpp"

namespace convoy::ir {

namespace {

void infer_forward(Inference& n) { n.give(n.in(0).dtype, infer_pool(n)); }

void infer_grad(Inference& n) {
  const auto a = n.attrs<PoolAttrs>();
  check_pool_grad(n, a);
  n.need_alike(0, 2);
  n.need_rank(1, 4);
  n.need_same_type(0, 1);
  const auto &dy = n.in(0).dims, &x = n.in(1).dims;
  if (x != std::vector<int64_t>{dy[0], dy[1], a.input_size[0], a.input_size[1]})
    n.refuse("input and output gradient do not belong together");
  n.give_like(1);
}

void gradient(Backward& b) {
  b.set(0, b.emit_one(Op::max_pool_grad, {b.dy(), b.in(0), b.out(0)}, b.node().attrs, "grad"));
}

const OpRule kRules[] = {
    {.op = Op::max_pool, .name = "max_pool", .min_inputs = 1, .max_inputs = 1, .attrs_size = sizeof(PoolAttrs),
     .infer = infer_forward, .gradient = gradient},
    {.op = Op::max_pool_grad, .name = "max_pool_grad", .min_inputs = 3, .max_inputs = 3,
     .attrs_size = sizeof(PoolAttrs), .earliest = Phase::backward, .infer = infer_grad},
};

}  // namespace

std::span<const OpRule> max_pool_rules() { return kRules; }

}  // namespace convoy::ir
