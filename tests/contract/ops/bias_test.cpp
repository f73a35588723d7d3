// bias_add and its gradient, of pictures and of features.
#include "one_node.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace convoy::contract {

TEST_SUITE("contract: bias") {
  TEST_CASE("bias_add and its gradient are the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const Dims& d : {Dims{2, 8, 5, 5}, Dims{1, 17, 3, 7}, Dims{3, 1, 2, 2}, Dims{2, 10}, Dims{3, 17}, Dims{1, 1}}) {
      const std::string what = fmt::format("rank {}, {} channels, {} samples", d.size(), d[1], d[0]);
      Case add(what), grad(what);
      const Value x = add.x(d), b = add.param({d[1]});
      add.run(Op::bias_add, {x, b});
      const Value dy = grad.x(d);
      grad.run(Op::bias_grad, {dy});
      cases.push_back(std::move(add));
      cases.push_back(std::move(grad));
    }
    hold_to_reference(cases);
  }
}

}  // namespace convoy::contract
