// cast, image_normalize, cast_copy and fill.
#include "one_node.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

namespace convoy::contract {

TEST_SUITE("contract: cast") {
  TEST_CASE("cast is the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const DType from : {DType::f32, DType::u8, DType::i32})
      for (const DType to : {DType::f32, DType::i32}) {
        Case& c = cases.emplace_back(fmt::format("{} to {}", ir::name_of(from), ir::name_of(to)));
        const Value x = c.give(Role::input, {2, 3, 4, 5}, bytes(), from);
        CastAttrs a{};
        a.to = to;
        c.run(Op::cast, {x}, a);
      }
    hold_to_reference(cases);
  }

  TEST_CASE("a 16-bit working copy is made, or refused with a reason") {
    for (const DType to : {DType::f16, DType::bf16}) {
      Case c(ir::name_of(to));
      CastAttrs a{};
      a.to = to;
      const Value x = c.param({5, 7});
      c.run(Op::cast_copy, {x}, a);
      check_claims(c);
    }
  }

  TEST_CASE("image_normalize is the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const DType t : {DType::u8, DType::f32})
      for (const int64_t channels : {1, 3, 4}) {
        Case& c = cases.emplace_back(fmt::format("{}, {} channels", ir::name_of(t), channels));
        ImageNormalizeAttrs a{};
        for (int i = 0; i < 4; ++i) a.mean[i] = 120.5f + static_cast<float>(i), a.stdev[i] = 60.0f - static_cast<float>(i);
        const Value x = c.give(Role::input, {2, channels, 5, 7}, bytes(), t);
        c.run(Op::image_normalize, {x}, a);
      }
    hold_to_reference(cases);
  }

  TEST_CASE("fill is the same on every backend, or refused with a reason") {
    std::vector<Case> cases;
    for (const DType t : {DType::f32, DType::i32})
      for (const Dims& d : {Dims{}, Dims{2, 17}, Dims{2, 3, 5, 5}}) {
        Case& c = cases.emplace_back(fmt::format("{} of rank {}", ir::name_of(t), d.size()));
        FillAttrs a{};
        a.dtype = t;
        a.value = 3;
        a.rank = static_cast<uint32_t>(d.size());
        for (std::size_t i = 0; i < d.size(); ++i) a.dim[i] = d[i];
        c.run(Op::fill, {}, a);
      }
    hold_to_reference(cases);
  }
}

}  // namespace convoy::contract
