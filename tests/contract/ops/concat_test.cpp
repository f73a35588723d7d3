// concat along channels and others, and slice, its gradient.
#include "one_node.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace convoy::contract {

TEST_SUITE("contract: concat") {
  TEST_CASE("concat is the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    const std::vector<std::vector<int64_t>> parts{{8, 8}, {3, 5, 17}, {1, 1}, {16, 16, 16, 16}};
    for (const auto& channels : parts) {
      Case& c = cases.emplace_back(fmt::format("{} inputs, the first of {} channels", channels.size(), channels[0]));
      std::vector<Value> in;
      for (const int64_t n : channels) in.push_back(c.x({2, n, 5, 3}));
      ConcatAttrs a{};
      a.axis = 1;
      c.run(Op::concat, in, a);
    }
    for (const int32_t axis : {0, 1, 2, 3}) {
      Case& c = cases.emplace_back(fmt::format("axis {}", axis));
      ConcatAttrs a{};
      a.axis = axis;
      Dims d{2, 3, 4, 5};
      const Value first = c.x(d);
      d[static_cast<std::size_t>(axis)] += 2;
      const Value second = c.x(d);
      c.run(Op::concat, {first, second}, a);
    }
    Case& features = cases.emplace_back("features");
    ConcatAttrs a{};
    a.axis = 1;
    const Value x0 = features.x({3, 7}), x1 = features.x({3, 4});
    features.run(Op::concat, {x0, x1}, a);
    hold_to_reference(cases);
  }

  TEST_CASE("slice is the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const int32_t axis : {0, 1, 2, 3})
      for (const int64_t start : {0, 1})
        for (const int64_t length : {1, 2}) {
          Case& c = cases.emplace_back(fmt::format("axis {}, {} from {}", axis, length, start));
          const Value x = c.x({3, 5, 4, 3});
          SliceAttrs a{};
          a.axis = axis, a.start = start, a.length = length;
          c.run(Op::slice, {x}, a);
        }
    Case& c = cases.emplace_back("half of 32 channels");
    const Value x = c.x({2, 32, 6, 6});
    SliceAttrs a{};
    a.axis = 1, a.start = 16, a.length = 16;
    c.run(Op::slice, {x}, a);
    hold_to_reference(cases);
  }
}

}  // namespace convoy::contract
