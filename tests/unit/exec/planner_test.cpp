// The arena planner: no two living pieces share bytes, and reuse happens.
#include <convoy/sdk/philox.hpp>
#include <convoy/sdk/planner.hpp>

#include <doctest/doctest.h>

using namespace convoy::sdk;

TEST_SUITE("planner") {
  TEST_CASE("pieces alive at the same time never overlap, for 200 random graphs") {
    for (uint64_t seed = 0; seed < 200; ++seed) {
      Random r(seed, RandomUse::synthetic, 0, 0);
      std::vector<Lifetime> pieces(40);
      for (auto& p : pieces) {
        p.bytes = r.below(5000);
        p.first = r.below(100);
        p.last = p.first + r.below(20);
      }
      const auto plan = plan_arena(pieces);
      for (std::size_t a = 0; a < pieces.size(); ++a) {
        CHECK(plan.offsets[a] % 64 == 0);
        CHECK(plan.offsets[a] + pieces[a].bytes <= plan.bytes);
        for (std::size_t b = 0; b < a; ++b) {
          const bool together = pieces[a].first <= pieces[b].last && pieces[b].first <= pieces[a].last;
          const bool apart = plan.offsets[a] + pieces[a].bytes <= plan.offsets[b] ||
                             plan.offsets[b] + pieces[b].bytes <= plan.offsets[a];
          CHECK((!together || apart));
        }
      }
    }
  }

  TEST_CASE("a chain needs two pieces of memory, however long it is") {
    std::vector<Lifetime> chain;
    for (uint32_t i = 0; i < 50; ++i) chain.push_back({1024, i, i + 1});
    CHECK(plan_arena(chain).bytes == 2048);
  }

  TEST_CASE("nothing needs nothing") { CHECK(plan_arena({}).bytes == 0); }
}
