// Where the tests look for their data: a folder that somebody named must exist, or all that need it would skip unseen.
#include "shared_data.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>

TEST_SUITE("shared data") {
  TEST_CASE("a CONVOY_SHARED that names no folder is a mistake") {
    const char* named = std::getenv("CONVOY_SHARED");
    const std::optional<std::string> before = named != nullptr ? std::optional<std::string>(named) : std::nullopt;
    setenv("CONVOY_SHARED", "/nowhere/shared", 1);
    CHECK_THROWS_WITH_AS(convoy::testing::shared_data(), "CONVOY_SHARED is '/nowhere/shared', which is no folder", std::runtime_error);
    setenv("CONVOY_SHARED", CONVOY_SOURCE_DIR, 1);
    CHECK(convoy::testing::shared_data().has_value());
    if (before) setenv("CONVOY_SHARED", before->c_str(), 1);
    else unsetenv("CONVOY_SHARED");
  }
}
