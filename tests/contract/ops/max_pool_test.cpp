// max_pool and its gradient, with ties too: the first maximum in row-major order gets the gradient.
#include "ops/pool_shapes.hpp"

#include <doctest/doctest.h>

namespace convoy::contract {

TEST_SUITE("contract: max_pool") {
  TEST_CASE("max_pool is the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const PoolShape& s : pool_shapes()) {
      Case& c = cases.emplace_back(s.text());
      const Value x = c.x(s.x());
      c.run(Op::max_pool, {x}, s.attrs());
    }
    Case& negative = cases.emplace_back("everything negative: padding never wins");
    const Value x = negative.x({1, 2, 5, 5}, between(-2, -1));
    negative.run(Op::max_pool, {x}, PoolShape{1, 2, 5, 5, 3, 3, 2, 2, 1, 1, 1, 1}.attrs());
    hold_to_reference(cases);
  }

  TEST_CASE("max_pool's gradient goes to the first maximum on every backend, or is refused with a reason") {
    std::vector<Case> cases;
    for (const Fill& fill : {around_zero(), few_values()})
      for (const PoolShape& s : pool_shapes()) {
        // y must be what max_pool makes of x: taken from a case of its own.
        Case forward(s.text(), 2);
        const Value fx = forward.x(s.x(), fill);
        forward.run(Op::max_pool, {fx}, s.attrs());
        Case& c = cases.emplace_back(s.text());
        const Value x = c.x(s.x(), listed(forward.data().at(fx)));
        const Value dy = c.x(s.y());
        const Value y = c.x(s.y(), listed(first_output(forward)));
        c.run(Op::max_pool_grad, {dy, x, y}, s.attrs());
      }
    hold_to_reference(cases);
  }
}

}  // namespace convoy::contract
