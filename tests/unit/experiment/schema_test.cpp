#include "experiment/schema.hpp"

#include "experiment/toml_reader.hpp"
#include "refusal.hpp"

#include <doctest/doctest.h>

namespace {

using namespace convoy;
using namespace convoy::experiment;
using convoy::testing::contains;
using convoy::testing::refusal;

std::string bad_schema(const std::string& text) {
  return refusal([&] { return parse_schema(text, "acme"); }, ErrorKind::plugin);
}

OptionRule rule(const std::string& line) {
  const auto rules = parse_schema(line, "acme");
  REQUIRE(rules.size() == 1);
  return rules[0];
}

OptionList check(const std::string& schema, const std::string& table) {
  return check_options(parse_schema(schema, "acme"), parse_toml(table, "exp.toml"), "sync", {"use"}, {"exp.toml", 9, 2});
}

std::string bad_option(const std::string& schema, const std::string& table) {
  return refusal([&] { return check(schema, table); });
}

TEST_SUITE("schema") {
  TEST_CASE("every type is read with its default") {
    CHECK(rule("a : bool = true").otherwise == OptionData(true));
    CHECK(rule("a : int = -5").otherwise == OptionData(int64_t{-5}));
    CHECK(rule("a : float = 2.5").otherwise == OptionData(2.5));
    CHECK(rule("a : float = 25").otherwise == OptionData(25.0));
    CHECK(rule("a : string = \"x # [y] \\\" : =\"").otherwise == OptionData(std::string("x # [y] \" : =")));
    CHECK(rule("a : [int] = [1, 2]").otherwise == OptionData(std::vector<int64_t>{1, 2}));
    CHECK(rule("a : [float] = [1, 2.5]").otherwise == OptionData(std::vector<double>{1, 2.5}));
    CHECK(rule("a : [string] = [\"]\", '[']").otherwise == OptionData(std::vector<std::string>{"]", "["}));
    CHECK(rule("a : [string] = []").otherwise == OptionData(std::vector<std::string>{}));
  }

  TEST_CASE("a key without a default must be given, with a range or choices or without") {
    for (const char* line : {"a : int", "a : int [1..4]", "a : string [\"x\"|\"y\"]", "a : [string] [\"x\"|\"y\"]", "a:[int][1..]#doc"})
      CHECK_FALSE(rule(line).otherwise.has_value());
    CHECK(rule("a : string [\"x\"|\"y\"]").choices == std::vector<std::string>{"x", "y"});
  }

  TEST_CASE("ranges may be open at either end") {
    const auto closed = rule("a : int = 3 [1..4]"), above = rule("a : [float] = [0.5] [0.5..]"), below = rule("a : float = -1 [ .. 1e3 ]");
    CHECK(closed.lo == 1.0);
    CHECK(closed.hi == 4.0);
    CHECK(above.lo == 0.5);
    CHECK_FALSE(above.hi.has_value());
    CHECK_FALSE(below.lo.has_value());
    CHECK(below.hi == 1000.0);
    CHECK(allowed_text(closed) == "1..4");
    CHECK(allowed_text(above) == "0.5..");
    CHECK(allowed_text(rule("a : int = 0")) == "");
  }

  TEST_CASE("choices may hold the marks of the grammar") {
    const auto r = rule("a : string = \"]\" [\"]\" | \"|\" | \"a\\\"b\" | \"#\"] # doc [1..2]");
    CHECK(r.choices == std::vector<std::string>{"]", "|", "a\"b", "#"});
    CHECK(r.doc == "doc [1..2]");
  }

  TEST_CASE("integers may be chosen from a list; bounds of integers are shown with all their digits") {
    const auto r = rule("depth : int = 50 [18 | 50|-1] # layers");
    CHECK(r.numbers == std::vector<int64_t>{18, 50, -1});
    CHECK(r.doc == "layers");
    CHECK(allowed_text(r) == "18, 50, -1");
    CHECK(is_allowed(r, int64_t{50}));
    CHECK_FALSE(is_allowed(r, int64_t{19}));
    CHECK(allowed_text(rule("a : int = 1 [1..16777216]")) == "1..16777216");
  }

  TEST_CASE("names may be dotted, spaces do not matter, comments and empty lines are skipped") {
    const auto rules = parse_schema("# about\n\n  link.latency:float=0#seconds\r\n\tb-2 :  bool  =  false  \n", "acme");
    REQUIRE(rules.size() == 2);
    CHECK(rules[0].key == "link.latency");
    CHECK(rules[0].kind == OptionKind::real);
    CHECK(rules[0].doc == "seconds");
    CHECK(rules[1].key == "b-2");
  }

  TEST_CASE("what a plugin writes is shown as plain text") {
    CHECK(rule("a : int # \x8e\x1b[2J").doc == "\\x8E\\u001B[2J");
    CHECK(allowed_text(rule("a : string [\"\\u001b\"|\"b\"]")) == "\\u001B, b");
    CHECK(contains(bad_schema("a : \xff"), "'a : \\xFF' has none of the types"));
  }

  TEST_CASE("a wrong schema is the plugin's fault, and the line is named") {
    for (const char* line :
         {"depth", "depth int", ": int", "a b : int", "a. : int", ".a : int", "a..b : int", "\"a\" : int", "a :", "a : number", "a : ints",
          "a : [bool] = []", "a : int =", "a : int = # doc", "a : int = x", "a : int = 1.5", "a : int = \"1\"", "a : float = nan", "a : bool = 1",
          "a : string = \"x", "a : [int] = [1, 2", "a : [int] = 1", "a : int = 5 [1..4]", "a : int = 1 [4..1]", "a : int = 1 [0.5..4]",
          "a : int = 1 [x..4]", "a : int = 1 [0..inf]", "a : int = 1 [0..", "a : int = 1 [0]", "a : int = 1 [1", "a : int = 1 [1|]", "a : int = 1 [1|x]", "a : int = 1 [1 2]", "a : float = 1 [1]", "a : int = 1 []", "a : int = 1 0..4", "a : bool = true [0..1]",
          "a : string = \"x\" [0..1]", "a : int = 1 [\"1\"]", "a : string = \"x\" [\"y\"]", "a : string = \"x\" [\"x\"|y]", "a : string = \"x\" [\"x\"",
          "a : string = \"x\" [\"x\"|]", "a : [int] = [1, 9] [0..4]", "a : int = 1 [0..4] more", "a : int = 1 = 2", "a : string = x"}) {
      CAPTURE(line);
      const std::string text = bad_schema("ok : int = 1\n\n" + std::string(line) + "\n");
      CHECK(text.starts_with("the option schema of 'acme' is wrong in line 3: '" + std::string(line) + "' "));
      CHECK(contains(text, "name : type = default [allowed] # documentation"));
    }
  }

  TEST_CASE("keys that cannot stand together are refused") {
    CHECK(contains(bad_schema("a : int = 1\na : int = 2"), "line 2: 'a : int = 2' names a key twice"));
    CHECK(contains(bad_schema("a.b : int = 1\na : int = 2"), "is at odds with 'a.b'"));
    CHECK(contains(bad_schema("a : int = 1\na.b : int = 2"), "is at odds with 'a'"));
    CHECK(bad_schema("a : int = 1\nab : int = 2\na-b.a : int = 3") == "");
  }
}

TEST_SUITE("plugin options") {
  constexpr const char* kSchema =
      "bucket_mib : float = 25 [0.1..1024] # largest bucket\n"
      "wire : string = \"fp32\" [\"fp32\"|\"bf16\"]\n"
      "link.hops : int = 1 [1..]\n"
      "link.names : [string] = []\n";

  TEST_CASE("defaults are filled in, in the order of the schema") {
    const OptionList all = check(kSchema, "");
    REQUIRE(all.size() == 4);
    CHECK(all[0] == OptionValue{"bucket_mib", 25.0});
    CHECK(all[1] == OptionValue{"wire", std::string("fp32")});
    CHECK(all[2] == OptionValue{"link.hops", int64_t{1}});
    CHECK(all[3] == OptionValue{"link.names", std::vector<std::string>{}});
  }

  TEST_CASE("what was written replaces them, an integer does for a float, tables nest by dots or brackets") {
    for (const char* table : {"link.hops = 4\nbucket_mib = 8\nlink.names = ['a']", "bucket_mib = 8\n[link]\nnames = ['a']\nhops = 4",
                              "link = { hops = 4, names = ['a'] }\nbucket_mib = 8.0"}) {
      const OptionList all = check(kSchema, table);
      CHECK(*find_option(all, "bucket_mib") == OptionValue{"bucket_mib", 8.0});
      CHECK(*find_option(all, "link.hops") == OptionValue{"link.hops", int64_t{4}});
      CHECK(*find_option(all, "link.names") == OptionValue{"link.names", std::vector<std::string>{"a"}});
      CHECK(find_option(all, "hops") == nullptr);
    }
  }

  TEST_CASE("an unknown key is P403, with its place, the known and the nearest") {
    CHECK(bad_option(kSchema, "bukcet_mib = 8") ==
          "error[P403]: unknown option 'bukcet_mib' in [sync] (exp.toml:1:1)\n"
          "  known  bucket_mib, link.hops, link.names, use, wire\n"
          "  fix    did you mean 'bucket_mib'?");
    CHECK(contains(bad_option(kSchema, "[link]\nhop = 2"), "unknown option 'link.hop' in [sync] (exp.toml:2:1)"));
    CHECK(contains(bad_option(kSchema, "[link]\nhop = 2"), "did you mean 'link.hops'?"));
  }

  TEST_CASE("nothing unknown is passed over: empty tables, quoted dots, odd names") {
    CHECK(contains(bad_option(kSchema, "[other]"), "unknown option 'other' in [sync]"));
    CHECK(contains(bad_option(kSchema, "link = {}"), "unknown option 'link' in [sync]"));
    CHECK(contains(bad_option(kSchema, "\"link.hops\" = 2"), "unknown option '\"link.hops\"' in [sync]"));
    CHECK(contains(bad_option(kSchema, "\"\" = 2"), "unknown option '\"\"' in [sync]"));
    CHECK(contains(bad_option(kSchema, "\"\\u001b[2J\" = 2"), "unknown option '\"\\u001B[2J\"' in [sync]"));
    CHECK(contains(bad_option(kSchema, "[[link]]\nhops = 2"), "unknown option 'link' in [sync]"));
  }

  TEST_CASE("a wrong type says what was written, where, and what is expected") {
    CHECK(bad_option(kSchema, "bucket_mib = \"8\"") == "exp.toml:1:1: sync.bucket_mib = \"8\" is a string; float is expected");
    CHECK(bad_option(kSchema, "[link]\nhops = 2.0") == "exp.toml:2:1: sync.link.hops = 2.0 is a float; int is expected");
    CHECK(bad_option(kSchema, "[link]\nnames = ['a', 1]") == "exp.toml:2:1: sync.link.names = [\"a\", 1] is an array; [string] is expected");
    CHECK(bad_option(kSchema, "link.names = 'a'") == "exp.toml:1:6: sync.link.names = \"a\" is a string; [string] is expected");
    CHECK(bad_option(kSchema, "bucket_mib = { a = 1 }") == "exp.toml:1:1: sync.bucket_mib = { ... } is a table; float is expected");
    CHECK(bad_option(kSchema, "bucket_mib = nan") == "exp.toml:1:1: sync.bucket_mib = nan is a float; float is expected");
    CHECK(contains(bad_option(kSchema, "wire = 1979-05-27"), "wire = 1979-05-27 is a date or time; string is expected"));
  }

  TEST_CASE("what is outside a range or no choice says what is allowed") {
    CHECK(bad_option(kSchema, "bucket_mib = 0.05") == "exp.toml:1:1: sync.bucket_mib = 0.05 is not allowed\n  allowed 0.1..1024");
    CHECK(bad_option(kSchema, "link.hops = 0") == "exp.toml:1:6: sync.link.hops = 0 is not allowed\n  allowed 1..");
    CHECK(bad_option(kSchema, "wire = \"bf61\"") ==
          "exp.toml:1:1: sync.wire = \"bf61\" is not allowed\n  known  fp32, bf16\n  fix    did you mean \"bf16\"?");
    CHECK(contains(bad_option("a : [int] [0..9]", "a = [1, 10]"), "sync.a = [1, 10] is not allowed"));
    CHECK(contains(bad_option("a : [string] [\"x\"]", "a = ['x', 'y']"), "is not allowed"));
    CHECK(bad_option(kSchema, "bucket_mib = 1024") == "");
    CHECK(bad_option(kSchema, "bucket_mib = 0.1") == "");
  }

  TEST_CASE("bounds hold to the last integer") {
    const char* schema = "a : int [..9007199254740993]";  // no float: the bound is 2^53, the nearest below
    CHECK(bad_option(schema, "a = 9007199254740992") == "");
    CHECK(contains(bad_option(schema, "a = 9007199254740993"), "is not allowed"));
  }

  TEST_CASE("a key that must be given is asked for, with its documentation") {
    CHECK(bad_option("path : string # folder with the files", "") ==
          "[sync] needs 'path' (exp.toml:9:2)\n  fix    path = ... (string: folder with the files)");
  }
}

}  // namespace
