#include "experiment/toml_reader.hpp"

#include "experiment/toml_text.hpp"
#include "refusal.hpp"
#include "shared_data.hpp"

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>

namespace {

using namespace convoy;
using namespace convoy::experiment;
using convoy::testing::contains;
using convoy::testing::refusal;
using nlohmann::json;

namespace fs = std::filesystem;

std::string refused(const std::string& text) {
  return refusal([&] { return parse_toml(text, "f"); });
}

const ConfigValue& at(const ConfigTable& t, const std::string& key) {
  REQUIRE(t.find(key) != nullptr);
  return t.find(key)->value;
}

/// Kind and text of a leaf, as toml-test's tagged JSON has them; floats are compared as numbers instead.
json tagged(const ConfigValue& v) {
  const auto leaf = [](const char* type, const std::string& text) { return json{{"type", type}, {"value", text}}; };
  if (const auto* b = v.as<bool>()) return leaf("bool", *b ? "true" : "false");
  if (const auto* i = v.as<int64_t>()) return leaf("integer", std::to_string(*i));
  if (const auto* d = v.as<double>()) return {{"type", "float"}, {"value", *d}};
  if (const auto* s = v.as<std::string>()) return leaf("string", *s);
  if (const auto* t = v.as<TimeText>()) {
    static const std::map<TimeText::Kind, const char*> kNames{{TimeText::Kind::datetime, "datetime"},
                                                              {TimeText::Kind::datetime_local, "datetime-local"},
                                                              {TimeText::Kind::date_local, "date-local"},
                                                              {TimeText::Kind::time_local, "time-local"}};
    return leaf(kNames.at(t->kind), t->text);
  }
  json out = v.as<ConfigArray>() != nullptr ? json::array() : json::object();
  if (const auto* a = v.as<ConfigArray>())
    for (const auto& x : *a) out.push_back(tagged(x));
  if (const auto* t = v.as<ConfigTable>())
    for (const auto& e : t->entries()) out[e.key] = tagged(e.value);
  return out;
}

/// Turns the texts of floats into numbers.
void floats_to_numbers(json& j) {
  if (j.is_object() && j.size() == 2 && j.contains("type") && j["type"] == "float")
    j["value"] = std::strtod(j["value"].get<std::string>().c_str(), nullptr);
  else if (j.is_structured())
    for (auto& x : j) floats_to_numbers(x);
}

std::vector<fs::path> files(const fs::path& folder, const std::string& extension) {
  std::vector<fs::path> out;
  for (const auto& f : fs::directory_iterator(folder))
    if (f.path().extension() == extension) out.push_back(f.path());
  std::sort(out.begin(), out.end());
  return out;
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST_SUITE("toml reader") {
  TEST_CASE("the valid files of toml-test give the values of their JSON") {
    const auto shared = testing::shared_data();
    if (!shared) {
      MESSAGE("skipped: no shared data");
      return;
    }
    const auto valid = files(*shared / "data" / "toml" / "valid", ".toml");
    CHECK(valid.size() == 10);
    for (const fs::path& file : valid) {
      CAPTURE(file.string());
      json expected = json::parse(bytes_of(fs::path(file).replace_extension(".json")));
      floats_to_numbers(expected);
      CHECK(tagged({read_toml_file(file), {}}) == expected);
    }
  }

  TEST_CASE("the invalid files of toml-test are refused with line and column") {
    const auto shared = testing::shared_data();
    if (!shared) {
      MESSAGE("skipped: no shared data");
      return;
    }
    // Where each is wrong, found by reading it; a missing end is where the text or its line ends.
    const std::map<std::string, int> lines{{"encoding__bad-utf8-in-string", 2}, {"key__duplicate-keys-01", 2}, {"table__duplicate-key-01", 4}};
    const auto invalid = files(*shared / "data" / "toml" / "invalid", ".toml");
    CHECK(invalid.size() == 10);
    for (const fs::path& file : invalid) {
      const std::string text = refusal([&] { return read_toml_file(file); });
      CAPTURE(text);
      std::smatch m;
      REQUIRE(text.starts_with(file.string()));
      const std::string rest = text.substr(file.string().size());
      REQUIRE(std::regex_search(rest, m, std::regex("^:([0-9]+):([0-9]+): .+")));
      const auto line = lines.find(file.stem().string());
      CHECK(std::stoi(m[1]) == (line == lines.end() ? 1 : line->second));
      CHECK(std::stoi(m[2]) >= 1);
    }
  }

  TEST_CASE("keys and values know where they were written, and keep that order") {
    const ConfigTable t = parse_toml("# first\n[run]\nname = 'a'\n  steps = [1,\n 2]\n[model]\nz = 1\na = 2\n", "exp.toml");
    REQUIRE(t.entries().size() == 2);
    CHECK(to_string(t.find("run")->at) == "exp.toml:2:2");
    const auto& run = *at(t, "run").as<ConfigTable>();
    CHECK(to_string(run.find("name")->at) == "exp.toml:3:1");
    CHECK(to_string(run.find("name")->value.at) == "exp.toml:3:8");
    CHECK(to_string(run.find("steps")->at) == "exp.toml:4:3");
    CHECK(to_string((*run.find("steps")->value.as<ConfigArray>())[1].at) == "exp.toml:5:2");
    const auto& model = *at(t, "model").as<ConfigTable>();
    CHECK(model.entries()[0].key == "z");
    CHECK(model.entries()[1].key == "a");
  }

  TEST_CASE("columns count characters, lines count however they end") {
    CHECK(contains(refused("a = 1\r\nb = '\xC3\xA9' x\r\n"), "f:2:9: "));
    CHECK(contains(refused("a = 1\nb = '\xC3\xA9' x\n"), "f:2:9: "));
    CHECK(contains(refused("\xEF\xBB\xBFgr\xC3\xB6sse = 1"), "f:1:3: "));
  }

  TEST_CASE("a letter that is not ASCII outside strings and comments is refused and named") {
    CHECK(refused("gr\xC3\xB6sse = 1").starts_with("f:1:3: '\xC3\xB6' stands outside a string or comment"));
    CHECK(refused("[run]\nlr = 0.1\xC3\xA9").starts_with("f:2:9: '\xC3\xA9' stands outside"));
    CHECK(refused("\xCA\x99").starts_with("f:1:1: '\xCA\x99' stands outside"));
    CHECK(refused("a = '''\n''' \xC3\xA9").starts_with("f:2:5: "));
    CHECK(refused("a = 'x\n\xC3\xA9'").starts_with("f:2:1: "));  // a literal string ends with its line
  }

  TEST_CASE("a letter that is not ASCII is read in strings, quoted keys and comments") {
    const ConfigTable t = parse_toml("\"gr\xC3\xB6sse\" = '\xE2\x82\xAC' # \xC3\xA9\n'\xC3\xA9' = \"\\\"\xF0\x9F\x9A\x9A\"\n", "f");
    CHECK(*at(t, "gr\xC3\xB6sse").as<std::string>() == "\xE2\x82\xAC");
    CHECK(*at(t, "\xC3\xA9").as<std::string>() == "\"\xF0\x9F\x9A\x9A");
  }

  TEST_CASE("a multi-line string may end with quotes of its own, and text behind it is still understood") {
    const ConfigTable t = parse_toml("a = [\"\"\"x\"\"\"\", \"\xC3\xA9\"]\nb = ['''x''''', '\xC3\xA9']\nc = [\"\"\"\\\"\"\"\", \"\xC3\xA9\"]", "f");
    CHECK(shown(at(t, "a")) == "[\"x\\\"\", \"\xC3\xA9\"]");
    CHECK(shown(at(t, "b")) == "[\"x''\", \"\xC3\xA9\"]");
    CHECK(shown(at(t, "c")) == "[\"\\\"\", \"\xC3\xA9\"]");
    CHECK(refused("a = [\"\"\"x\"\"\"\", \xC3\xA9\"]").starts_with("f:1:16: "));
  }

  TEST_CASE("a valid text that is undefined behaviour in the parser as it comes is read right") {
    // marzer/tomlplusplus issue 190: the first letter behind the backslash that ends a line.
    for (const char* letter : {"\xC2\xA7", "\xC3\xA9", "\xCA\x99", "\xE2\x82\xAC", "\xEF\xBF\xBD", "\xF0\x9F\x9A\x9A"}) {
      const ConfigTable t = parse_toml(std::string("s = \"\"\"\\\n  ") + letter + "\"\"\"\n", "f");
      CHECK(*at(t, "s").as<std::string>() == letter);
    }
  }

  TEST_CASE("texts that trip the parser's assertions are refused where they are wrong") {
    for (const char* text : {"[&", "[[=", "[[[1]]]", "[[[a]]]", "[[[]]"}) {
      CAPTURE(text);
      CHECK(std::regex_match(refused(text), std::regex("f:1:[23]: .+")));
      CHECK(std::regex_match(refused("# \xC3\xA9\n[run]\n" + std::string(text)), std::regex("f:3:[23]: .+")));
    }
  }

  TEST_CASE("control bytes are refused, in strings and comments too") {
    for (int c = 0; c < 0x80; ++c) {
      if ((c >= 0x20 && c != 0x7f) || c == '\t' || c == '\n') continue;
      const std::string byte(1, static_cast<char>(c));
      CHECK(refused("[" + byte).starts_with("f:1:2: the control byte 0x"));
      CHECK(refused("a = '" + byte + "'").starts_with("f:1:6: the control byte 0x"));
      CHECK(refused("a = \"\\" + byte + "\"").starts_with("f:1:7: the control byte 0x"));
      CHECK(refused("# " + byte).starts_with("f:1:3: the control byte 0x"));
    }
  }

  TEST_CASE("text that is no UTF-8 is refused") {
    for (const char* bad : {"\x80", "\xC3", "\xC0\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
                            "\xF5\x80\x80\x80", "\xFF", "\xE2\x82"}) {
      CHECK(utf8_length(bad) == 0);
      CHECK(contains(refused("a = '" + std::string(bad) + "'"), "f:1:6: the byte 0x"));
    }
    for (const char* good : {"a", "\xC2\x80", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
      CHECK(utf8_length(good) == std::string(good).size());
  }

  TEST_CASE("messages hold nothing that a terminal obeys") {
    CHECK(printable("a\x1b[2J\t\x7f\xC2\x9B\xC3\xA9\xff\xE2\x82") == "a\\u001B[2J\\u0009\\u007F\\u009B\xC3\xA9\\xFF\\xE2\\x82");
    CHECK(is_plain_text("a \xC2\xA0\xC3\xA9"));
    for (const char* bad : {"\x1b", "a\n", "\x7f", "\xC2\x9B", "\xff"}) CHECK_FALSE(is_plain_text(bad));
    CHECK(refused("\xC2\x99").starts_with("f:1:1: '\\u0099' stands outside"));
    CHECK(is_plain_text(refused("\"\\u001b[2J\" = 1\n\"\\u001b[2J\" = 2")));
  }

  TEST_CASE("a text of 1 MiB is read, one byte more is refused") {
    const std::string text = "a = 1\n#" + std::string(kLargestFile - 7, 'x');
    CHECK(*at(parse_toml(text, "f"), "a").as<int64_t>() == 1);
    CHECK(contains(refused(text + "x"), "more than 1048576 bytes"));
  }

  TEST_CASE("nesting of 32 is read, more is refused with its place, however it is written") {
    const auto repeat = [](const std::string& s, int n) {
      std::string out;
      for (int i = 0; i < n; ++i) out += s;
      return out;
    };
    CHECK(refused("a = " + repeat("[", 32) + repeat("]", 32)) == "");
    CHECK(refused("a = " + repeat("[", 33) + repeat("]", 33)).starts_with("f:1:"));
    CHECK(refused("a = " + repeat("[", 500'000)).starts_with("f:1:"));
    CHECK(refused("a = " + repeat("{a=", 500'000 / 3)).starts_with("f:1:"));
    CHECK(refused(repeat("a.", 31) + "a = 1") == "");
    CHECK(refused(repeat("a.", 32) + "a = 1").starts_with("f:1:"));
    CHECK(refused(repeat("a.", 500'000) + "a = 1").starts_with("f:1:"));
    CHECK(refused("[" + repeat("a.", 500'000) + "a]").starts_with("f:1:"));
    CHECK(refused("[" + repeat("a.", 30) + "a]\n" + repeat("a.", 30) + "a = {" + repeat("a.", 30) + "a = 1}").starts_with("f:"));
  }

  TEST_CASE("numbers are read exactly or refused") {
    const ConfigTable t = parse_toml("a = -9223372036854775808\nb = 9223372036854775807\nc = 0x7fffffffffffffff\nd = 5e-324\ne = 1_000.5", "f");
    CHECK(*at(t, "a").as<int64_t>() == INT64_MIN);
    CHECK(*at(t, "b").as<int64_t>() == INT64_MAX);
    CHECK(*at(t, "c").as<int64_t>() == INT64_MAX);
    CHECK(*at(t, "d").as<double>() == 5e-324);
    CHECK(*at(t, "e").as<double>() == 1000.5);
    CHECK(contains(refused("a = 9223372036854775808"), "f:1:"));
    CHECK(contains(refused("a = 1e999"), "f:1:"));
  }

  TEST_CASE("a file that cannot be read is refused by name") {
    const auto refused_file = [](const fs::path& p) { return refusal([&] { return read_toml_file(p); }); };
    const fs::path folder = fs::temp_directory_path();
    CHECK(refused_file(folder / "convoy-no-such-file.toml") == "'" + (folder / "convoy-no-such-file.toml").string() + "' does not exist");
    CHECK(refused_file(folder) == "'" + folder.string() + "' is not a file");
    CHECK(refused_file("/dev/null") == "'/dev/null' is not a file");
    CHECK(refused_file("/proc/self/mem") == "'/proc/self/mem' cannot be read");
    const fs::path secret = folder / ("convoy-secret-" + std::to_string(getpid()) + ".toml");
    std::ofstream(secret) << "a = 1\n";
    fs::permissions(secret, fs::perms::none);
    if (geteuid() != 0) CHECK(contains(refused_file(secret), "cannot be read"));  // root reads anything
    fs::remove(secret);
  }
}

}  // namespace
