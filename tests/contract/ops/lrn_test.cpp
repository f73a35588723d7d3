// lrn and its gradient, with windows as wide as the channels and wider.
#include "one_node.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace convoy::contract {

TEST_SUITE("contract: lrn") {
  TEST_CASE("lrn and its gradient are the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const Dims& d : {Dims{2, 16, 5, 5}, Dims{1, 17, 3, 3}, Dims{2, 3, 4, 4}, Dims{1, 1, 2, 2}})
      for (const int32_t size : {3, 5}) {
        LrnAttrs a{};
        a.size = size, a.alpha = 0.5, a.beta = 0.75, a.k = 2;
        const std::string what = fmt::format("{} channels, size {}", d[1], size);
        Case forward(what);
        const Value fx = forward.x(d);
        forward.run(Op::lrn, {fx}, a);
        Case backward(what, 2);
        const Value dy = backward.x(d), x = backward.x(d, listed(forward.data().at(fx)));
        const Value y = backward.x(d, listed(first_output(forward)));
        backward.run(Op::lrn_grad, {dy, x, y}, a);
        cases.push_back(std::move(forward));
        cases.push_back(std::move(backward));
      }
    hold_to_reference(cases);
  }
}

}  // namespace convoy::contract
