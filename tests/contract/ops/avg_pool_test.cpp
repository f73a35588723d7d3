// avg_pool and its gradient, with padding counted and not, floor and ceil.
#include "ops/pool_shapes.hpp"

#include <doctest/doctest.h>

namespace convoy::contract {

TEST_SUITE("contract: avg_pool") {
  TEST_CASE("avg_pool is the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const PoolShape& s : pool_shapes()) {
      Case& c = cases.emplace_back(s.text());
      const Value x = c.x(s.x());
      c.run(Op::avg_pool, {x}, s.attrs());
    }
    hold_to_reference(cases);
  }

  TEST_CASE("avg_pool's gradient is the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const PoolShape& s : pool_shapes()) {
      Case& c = cases.emplace_back(s.text());
      const Value dy = c.x(s.y());
      c.run(Op::avg_pool_grad, {dy}, s.attrs());
    }
    hold_to_reference(cases);
  }
}

}  // namespace convoy::contract
