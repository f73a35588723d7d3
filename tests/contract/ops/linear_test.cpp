// linear and its two gradients.
#include "one_node.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace convoy::contract {

TEST_SUITE("contract: linear") {
  TEST_CASE("linear and its gradients are the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const Dims& d : {Dims{2, 16, 10}, Dims{1, 1, 1}, Dims{3, 17, 5}, Dims{2, 5, 33}, Dims{1, 300, 7}, Dims{7, 64, 64}}) {
      const int64_t N = d[0], I = d[1], O = d[2];
      const std::string what = fmt::format("({},{}) x ({},{})", N, I, O, I);
      Case forward(what), dgrad(what), wgrad(what);
      const Value x = forward.x({N, I}), w = forward.param({O, I});
      forward.run(Op::linear, {x, w});
      const Value dy = dgrad.x({N, O}), w2 = dgrad.param({O, I});
      dgrad.run(Op::linear_dgrad, {dy, w2});
      const Value dy2 = wgrad.x({N, O}), x2 = wgrad.x({N, I});
      wgrad.run(Op::linear_wgrad, {dy2, x2});
      for (Case* c : {&forward, &dgrad, &wgrad}) cases.push_back(std::move(*c));
    }
    hold_to_reference(cases);
  }
}

}  // namespace convoy::contract
