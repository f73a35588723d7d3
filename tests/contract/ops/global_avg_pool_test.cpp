// global_avg_pool and its gradient.
#include "one_node.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace convoy::contract {

TEST_SUITE("contract: global_avg_pool") {
  TEST_CASE("global_avg_pool and its gradient are the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const Dims& d : {Dims{2, 8, 7, 7}, Dims{1, 17, 8, 8}, Dims{3, 5, 1, 1}, Dims{2, 1, 3, 11}}) {
      GlobalPoolAttrs a{};
      a.input_size[0] = static_cast<int32_t>(d[2]), a.input_size[1] = static_cast<int32_t>(d[3]);
      const std::string what = fmt::format("{}x{} of {}", d[2], d[3], d[1]);
      Case& forward = cases.emplace_back(what);
      const Value x = forward.x(d);
      forward.run(Op::global_avg_pool, {x}, a);
      Case& backward = cases.emplace_back(what);
      const Value dy = backward.x({d[0], d[1]});
      backward.run(Op::global_avg_pool_grad, {dy}, a);
    }
    hold_to_reference(cases);
  }
}

}  // namespace convoy::contract
