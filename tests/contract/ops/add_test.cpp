// add, add_n and weighted_sum.
#include "one_node.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace convoy::contract {

TEST_SUITE("contract: add") {
  TEST_CASE("sums are the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const Dims& d : {Dims{2, 8, 5, 5}, Dims{1, 17, 3, 3}, Dims{3, 10}, Dims{}}) {
      Case& add = cases.emplace_back(fmt::format("rank {}", d.size()));
      const Value a = add.x(d), b = add.x(d);
      add.run(Op::add, {a, b});
      for (const int n : {1, 2, 3, 5}) {
        Case sum(fmt::format("{} values of rank {}", n, d.size())), weighted(sum.what());
        WeightedSumAttrs weights{};
        weights.n = static_cast<uint32_t>(n);
        std::vector<Value> in, win;
        for (int i = 0; i < n; ++i) {
          in.push_back(sum.x(d));
          win.push_back(weighted.x(d));
          weights.weight[i] = 0.25 * (i + 1);
        }
        sum.run(Op::add_n, in);
        weighted.run(Op::weighted_sum, win, weights);
        if (n > 1) cases.push_back(std::move(sum));
        cases.push_back(std::move(weighted));
      }
    }
    hold_to_reference(cases);
  }
}

}  // namespace convoy::contract
