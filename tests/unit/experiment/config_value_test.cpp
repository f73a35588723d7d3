#include "experiment/config_value.hpp"

#include "experiment/toml_reader.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace {

using namespace convoy;
using namespace convoy::experiment;

TEST_SUITE("config value") {
  TEST_CASE("a table keeps its entries in the order of writing, and an entry its place when it is set again") {
    ConfigTable t;
    t.set("z", {"f", 1, 1}, {int64_t{1}, {}});
    t.set("a", {"f", 2, 1}, {int64_t{2}, {}});
    t.set("z", {"f", 3, 1}, {int64_t{3}, {}});
    REQUIRE(t.entries().size() == 2);
    CHECK(t.entries()[0].key == "z");
    CHECK(*t.find("z")->value.as<int64_t>() == 3);
    CHECK(t.find("z")->at.line == 3);
    t.erase("z");
    CHECK(t.find("z") == nullptr);
    CHECK(t.find("a") != nullptr);
  }

  TEST_CASE("a float is written as a float, and reads back as the same one") {
    using Limits = std::numeric_limits<double>;
    for (const double v : {0.0, -0.0, 1.0, -25.0, 0.1, 1e-7, 1e20, 1e300, 123456789012345680.0, Limits::max(), Limits::min(),
                           Limits::denorm_min(), 1.0 / 3, Limits::infinity(), -Limits::infinity()}) {
      const ConfigTable t = parse_toml("v = " + float_text(v), "f");
      REQUIRE(t.find("v")->value.as<double>() != nullptr);
      CHECK(*t.find("v")->value.as<double>() == v);
      CHECK(std::signbit(*t.find("v")->value.as<double>()) == std::signbit(v));
    }
    CHECK(std::isnan(*parse_toml("v = " + float_text(std::nan("")), "f").find("v")->value.as<double>()));
  }

  TEST_CASE("a string is written with every control character escaped, and reads back the same") {
    std::string all;
    for (int c = 0; c < 0x80; ++c) all += static_cast<char>(c);
    all += "\xC2\x80\xC2\x9B\xC2\x9F\xC2\xA0\xC3\xA9\xE2\x82\xAC\xF0\x9F\x9A\x9A\xEF\xBB\xBF\xEF\xBF\xBF\xF4\x8F\xBF\xBF";
    const std::string text = experiment::quoted(all);
    for (const char c : text) CHECK(static_cast<unsigned char>(c) >= 0x20);
    CHECK(text.find("\xC2\x9B") == text.npos);
    CHECK(*parse_toml("v = " + text, "f").find("v")->value.as<std::string>() == all);
  }

  TEST_CASE("a key is quoted where it is no bare one") {
    CHECK(key_text("bucket-mib_2") == "bucket-mib_2");
    CHECK(key_text("a.b") == "\"a.b\"");
    CHECK(key_text("") == "\"\"");
    CHECK(key_text("\x1b[31m") == "\"\\u001B[31m\"");
  }

  TEST_CASE("a value is shown short, cut between characters") {
    const auto value = [](const std::string& text) { return parse_toml("v = " + text, "f").find("v")->value; };
    CHECK(shown(value("[1, 2.0, \"a\", true]")) == "[1, 2.0, \"a\", true]");
    CHECK(shown(value("{a = 1}")) == "{ ... }");
    std::string accents = "\"";
    for (int i = 0; i < 100; ++i) accents += "\xC3\xA9";
    const std::string text = shown(value(accents + "\""));
    CHECK(text.size() <= 60);
    CHECK(text.ends_with("\xC3\xA9..."));
  }
}

}  // namespace
