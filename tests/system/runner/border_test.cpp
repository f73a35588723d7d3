// What the program's binary and the core's sources must not contain.
#include "plugins/program.hpp"

#include <doctest/doctest.h>

using namespace convoy::testing;

namespace {

const std::string kRunner = std::string(CONVOY_BUILD_DIR) + "/bin/runner";

}  // namespace

TEST_SUITE("border") {
  TEST_CASE("the program links no vendor's library") {
    const auto o = Program("/usr/bin/readelf").run({"-d", kRunner});
    REQUIRE(o.exit_code == 0);
    CHECK(has(o.text, "libstdc++"));
    for (const char* vendor : {"dnnl", "gomp", "cuda", "cudnn", "cublas", "nccl", "libmpi", "blas", "OpenCL"}) CHECK_MESSAGE(!has(o.text, vendor), vendor);
  }

  TEST_CASE("the program exports nothing of the core") {
    const auto o = Program("/usr/bin/nm").run({"-D", "--defined-only", "-C", kRunner});
    REQUIRE(o.exit_code == 0);
    CHECK(!has(o.text, "convoy::"));
  }

  TEST_CASE("the core's sources name no device vendor and no transport") {
    const std::string core = std::string(CONVOY_SOURCE_DIR) + "/core";
    const auto o = Program("/usr/bin/grep").run({"-riE", "cuda|nccl|mpi_", core, "--include=*.cpp", "--include=*.hpp"});
    CHECK(o.exit_code == 1);
    CHECK(o.text == "");
  }
}
