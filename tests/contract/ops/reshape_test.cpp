// reshape: row-major order of the logical elements, whatever layout a backend keeps them in.
#include "one_node.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace convoy::contract {

TEST_SUITE("contract: reshape") {
  TEST_CASE("reshape is the same on every backend, or refused with a reason") {
    const std::vector<std::pair<Dims, Dims>> pairs{{{2, 16, 3, 3}, {2, 144}}, {{2, 144}, {2, 16, 3, 3}}, {{3, 5, 7, 1}, {3, 35}},
                                                   {{1, 1}, {1, 1, 1, 1}},    {{2, 17, 2, 3}, {2, 102}}};
    std::vector<Case> cases;
    for (const auto& [from, to] : pairs) {
      Case& c = cases.emplace_back(fmt::format("rank {} to {}", from.size(), to.size()));
      ReshapeAttrs a{};
      a.rank = static_cast<uint32_t>(to.size());
      for (std::size_t i = 0; i < to.size(); ++i) a.dim[i] = to[i];
      const Value x = c.x(from);
      c.run(Op::reshape, {x}, a);
    }
    hold_to_reference(cases);
  }
}

}  // namespace convoy::contract
