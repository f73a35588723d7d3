// relu and its gradient, with exact zeros among the values.
#include "one_node.hpp"

#include <doctest/doctest.h>

namespace convoy::contract {

TEST_SUITE("contract: relu") {
  TEST_CASE("relu and its gradient are the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const Dims& d : {Dims{2, 8, 5, 5}, Dims{1, 17, 3, 3}, Dims{3, 10}, Dims{1, 1, 1, 1}})
      for (const Fill& fill : {around_zero(), few_values()}) {
        Case forward("relu");
        const Value fx = forward.x(d, fill);
        forward.run(Op::relu, {fx});
        Case backward("gradient", 2);
        const Value dy = backward.x(d), y = backward.x(d, listed(first_output(forward)));
        backward.run(Op::relu_grad, {dy, y});
        cases.push_back(std::move(forward));
        cases.push_back(std::move(backward));
      }
    hold_to_reference(cases);
  }
}

}  // namespace convoy::contract
