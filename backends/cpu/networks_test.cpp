// Small networks with the patterns of the families, a whole training step and inference, against the reference:
// what is fused, kept from forward to backward or written in place must not show.
#include "small_networks.hpp"

namespace convoy::cpu::testing {
namespace {

// Batch normalisation over few samples amplifies the roundings of what is before it.
constexpr double kStep = 5e-4;
constexpr double kInference = 2e-5;

std::string texts(const Trial& t) {
  std::string out;
  for (const auto& n : t.notes) out += n.text + "; ";
  return out;
}

TEST_SUITE("cpu networks") {
  TEST_CASE("a training step: loss, gradients, statistics and parameters are the reference's") {
    for (const auto& [name, network] : kNetworks) {
      CAPTURE(name);
      const Built b = build_step(network);
      Trial t(b.graph);
      REQUIRE_MESSAGE(t.refusals.empty(), t.refusals);
      prepare(t, b);
      t.run(2);
      t.run_oracle(2);
      std::string where;
      CHECK_MESSAGE(t.worst(&where) < kStep, "at " << where << " by " << texts(t));
      CHECK(texts(t).find("ref:") == std::string::npos);
    }
  }

  TEST_CASE("inference: folding and sums in place do not show") {
    for (const auto& [name, network] : kNetworks) {
      CAPTURE(name);
      const Built b = build(network, false);
      Trial t(b.graph);
      REQUIRE_MESSAGE(t.refusals.empty(), t.refusals);
      prepare(t, b);
      t.run(2);
      t.run_oracle();
      std::string where;
      CHECK_MESSAGE(t.worst(&where) < kInference, "at " << where << " by " << texts(t));
    }
  }
}

}  // namespace
}  // namespace convoy::cpu::testing
