#include "experiment/experiment.hpp"
#include "experiment/toml_reader.hpp"
#include "refusal.hpp"
#include "schemas.hpp"

#include <doctest/doctest.h>

namespace {

using namespace convoy;
using namespace convoy::experiment;
using convoy::testing::contains;
using convoy::testing::refusal;

/// The value behind `path` after the assignment, as it would be written.
std::string after(const std::string& file, const std::string& assignment, const std::vector<std::string>& path) {
  ConfigTable t = parse_toml(file, "f");
  apply_override(t, assignment);
  const ConfigTable* table = &t;
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    REQUIRE(table->find(path[i]) != nullptr);
    table = table->find(path[i])->value.as<ConfigTable>();
    REQUIRE(table != nullptr);
  }
  const ConfigEntry* e = table->find(path.back());
  REQUIRE(e != nullptr);
  CHECK(e->at.line == 0);
  CHECK(e->at.file.starts_with("--set "));
  return shown(e->value);
}

std::string value(const std::string& text) { return after("", "a.b=" + text, {"a", "b"}); }

std::string refused(const std::string& assignment, const std::string& file = "") {
  return refusal([&] {
    ConfigTable t = parse_toml(file, "f");
    apply_override(t, assignment);
    return 0;
  });
}

TEST_SUITE("override") {
  TEST_CASE("a value is read as TOML") {
    CHECK(value("1") == "1");
    CHECK(value("-1e-3") == "-0.001");
    CHECK(value("true") == "true");
    CHECK(value("\"a=b, c\"") == "\"a=b, c\"");
    CHECK(value("'x'") == "\"x\"");
    CHECK(value("[1, 2,3]") == "[1, 2, 3]");
    CHECK(value("[\"a,b\", \"c\"]") == "[\"a,b\", \"c\"]");
    CHECK(value("{ c = 1 }") == "{ ... }");
    CHECK(value("1979-05-27") == "1979-05-27");
  }

  TEST_CASE("a bare word is a string") {
    CHECK(value("cpu") == "\"cpu\"");
    CHECK(value("True") == "\"True\"");
    CHECK(value("/data/my set/a,b.bin") == "\"/data/my set/a,b.bin\"");
    CHECK(value("v1.5") == "\"v1.5\"");
    CHECK(value("a=b") == "\"a=b\"");
    CHECK(value("a\"b") == "\"a\\\"b\"");
    CHECK(value("gr\xC3\xB6sse") == "\"gr\xC3\xB6sse\"");
    CHECK(value("1 2") == "\"1 2\"");
    CHECK(value("") == "\"\"");
  }

  TEST_CASE("space around key and value does not count") {
    CHECK(after("", "a.b = 1", {"a", "b"}) == "1");
    CHECK(after("", " a . b =  cpu ", {"a", "b"}) == "\"cpu\"");
  }

  TEST_CASE("parts of a key may be quoted") {
    CHECK(after("", "report.price.\"NVIDIA H200, a=b.c\"=0.06", {"report", "price", "NVIDIA H200, a=b.c"}) == "0.06");
    CHECK(after("", "report.'x'=1", {"report", "x"}) == "1");
  }

  TEST_CASE("it replaces what the file says, in its place, or adds to it") {
    ConfigTable t = parse_toml("[run]\nseed = 1\nepochs = 2\n[model]\nuse = 'a'\n", "f");
    apply_override(t, "run.seed=7");
    apply_override(t, "run.steps=9");
    apply_override(t, "data.use=idx");
    const auto& run = t.find("run")->value.as<ConfigTable>()->entries();
    REQUIRE(run.size() == 3);
    CHECK(run[0].key == "seed");
    CHECK(*run[0].value.as<int64_t>() == 7);
    CHECK(run[0].at.file == "--set run.seed");
    CHECK(run[1].at.line == 3);
    CHECK(run[2].key == "steps");
    CHECK(t.entries().back().key == "data");
  }

  TEST_CASE("the position inside a list or table is the assignment") {
    ConfigTable t;
    apply_override(t, "a.b=[{c = [1]}]");
    const auto& list = *t.find("a")->value.as<ConfigTable>()->find("b")->value.as<ConfigArray>();
    const ConfigEntry& c = list[0].as<ConfigTable>()->entries()[0];
    CHECK(to_string(c.at) == "--set a.b");
    CHECK(to_string((*c.value.as<ConfigArray>())[0].at) == "--set a.b");
  }

  TEST_CASE("what is no assignment is refused") {
    for (const char* text : {"", "=", "a.b", "a=1", "=1", ".a=1", "a.=1", "a..b=1", "a.b c=1", "\"a.b=1", "a.\"b\"c=1"}) {
      CAPTURE(text);
      CHECK(refused(text).starts_with("--set " + std::string(text) + ": "));
      CHECK(contains(refused(text), std::string(text) == "a=1" ? "--set a.KEY=VALUE" : "--set optimizer.lr=0.05"));
    }
    CHECK(refused("run.\x01=2").starts_with("--set run.\\u0001=2: the key is no UTF-8 text"));
    CHECK(refused("run.\xff=2").starts_with("--set run.\\xFF=2: the key is no UTF-8 text"));
    std::string deep = "a";
    for (int i = 0; i < 100; ++i) deep += ".a";
    CHECK(contains(refused(deep + "=1"), "too many parts"));
    CHECK(contains(refused("run.name.x=1", "[run]\nname = 'a'"), "'name' is a string, not a table"));
  }

  TEST_CASE("a value that begins as TOML and is none is refused") {
    for (const char* text : {"[1, 2", "[1 2]", "{a = 1", "\"abc", "'abc", "[cpu]", "\"a\" b"}) {
      CAPTURE(text);
      CHECK(refused("a.b=" + std::string(text)).starts_with("--set a.b: " + std::string(text) + " is no TOML value"));
    }
  }

  TEST_CASE("a value cannot bring further keys, control bytes or broken UTF-8") {
    for (const char* text : {"1\nc = 2", "x\ny", "\x1b[31m", "\xff", "a\xC3"}) CHECK(contains(refused("a.b=" + std::string(text)), "no UTF-8 text"));
    CHECK(refused("a.b=" + std::string(2 << 20, '[')).starts_with("--set a.b: "));
  }

  TEST_CASE("an unknown key is refused later, naming the assignment") {
    testing::Schemas schemas;
    const auto made = [&](const std::string& assignment) {
      return refusal([&] {
        ConfigTable t = parse_toml("[run]\nepochs = 1\n[model]\nuse = 'resnet'\n", "f");
        apply_override(t, assignment);
        return make_experiment(t, "f", schemas);
      });
    };
    CHECK(made("run.epohcs=3").starts_with("--set run.epohcs: unknown key 'epohcs' in [run]"));
    CHECK(contains(made("run.epohcs=3"), "did you mean 'epochs'?"));
    CHECK(made("rnu.epochs=3").starts_with("--set rnu.epochs: unknown table 'rnu'"));
    CHECK(contains(made("model.detph=18"), "unknown option 'detph' in [model] (--set model.detph)"));
    CHECK(made("run.seed=x").starts_with("--set run.seed: run.seed = \"x\" is not allowed; an integer of at least 0 is expected"));
    CHECK(made("run.seed=5") == "");
  }
}

}  // namespace
