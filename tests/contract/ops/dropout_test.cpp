// dropout: every backend draws the same numbers, by counter, and backward keeps what forward kept.
#include "one_node.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace convoy::contract {

TEST_SUITE("contract: dropout") {
  TEST_CASE("dropout keeps the same elements on every backend, or is refused with a reason") {
    std::vector<Case> cases;
    for (const Op op : {Op::dropout, Op::dropout_grad})
      for (const Dims& d : {Dims{2, 8, 5, 5}, Dims{3, 17}, Dims{1, 4096}, Dims{1, 1}})
        for (const double p : {0.0, 0.3, 0.5}) {
          DropoutAttrs a{};
          a.stream = 3, a.p = p;
          Case& c = cases.emplace_back(fmt::format("p {} of {} samples", p, d[0]));
          const Value x = c.x(d, between(1, 2));
          const Value rng = c.give(Role::scalar, {4}, listed({12345678901.0, 42, 4294967295.0, 0}), DType::i64);
          c.run(op, {x, rng}, a);
        }
    hold_to_reference(cases);
  }
}

}  // namespace convoy::contract
