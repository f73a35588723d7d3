// One picture of the golden files through the device `reference`, at full size. In inference a sample's logits do not
// depend on the rest of the batch, so the first row of a file stands alone. Training passes at full size are for the
// compiling devices, in golden_test.cpp; what reference computes in training is held against finite differences.
#include "golden_network.hpp"

#include "shared_data.hpp"

#include <doctest/doctest.h>

using namespace convoy;
using namespace convoy::testing;

TEST_SUITE("golden") {
  TEST_CASE("the first picture's logits on reference are the golden file's") {
    constexpr double kLogits = 1e-5;  // the files' bound for fp32; other software measured 7.4e-7
    const auto shared = shared_data();
    if (!shared) {
      MESSAGE("skipped: no golden files (CONVOY_SHARED)");
      return;
    }
    GoldenBench bench("reference");
    for (const char* version : {"v1", "v1.5", "v2"}) {
      CAPTURE(version);
      auto golden = GoldenFile::read(*shared / "golden" / ("resnet50-" + std::string(version) + ".json"));
      golden.batch = 1;
      golden.labels.resize(1);
      GoldenNetwork net(bench, golden, "resnet", {{"depth", int64_t{50}}, {"version", std::string(version)}}, false);
      net.fill();
      net.run();
      const auto logits = net.values(net.graph().logits);
      const double error = relative_error(logits, golden.eval_logits_first);
      MESSAGE(golden.variant << ": logits " << error);
      CHECK(error < kLogits);
    }
  }
}
