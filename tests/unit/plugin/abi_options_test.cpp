// Checked options as a plugin sees them, read with the SDK's own readers.
#include "plugin/abi_options.hpp"

#include <convoy/sdk/plugin.hpp>

#include <doctest/doctest.h>

#include <string>
#include <type_traits>
#include <vector>

using convoy::OptionType;
using convoy::Options;
using convoy::experiment::OptionList;
using convoy::plugin::AbiOptions;
namespace sdk = convoy::sdk;

TEST_SUITE("options at the border") {
  TEST_CASE("every type arrives under its key, in the schema's order") {
    const AbiOptions abi({{"deep", true},
                          {"depth", int64_t{50}},
                          {"rate", 0.25},
                          {"link.name", std::string("v1.5")},
                          {"sizes", std::vector<int64_t>{1, -2}},
                          {"means", std::vector<double>{0.5, 1e30}},
                          {"files", std::vector<std::string>{"a b", "", "c"}}},
                         "model");
    const Options& o = abi.view();
    CHECK(o.struct_size == sizeof(Options));
    CHECK(o.items.n == 7);
    CHECK(o.items.stride == sizeof(convoy::Option));
    CHECK(sdk::text(o.table) == "model");
    CHECK(sdk::text(o.items[0].key) == "deep");
    CHECK(sdk::text(o.items[6].key) == "files");
    CHECK(sdk::get(o, "deep", false));
    CHECK(sdk::get(o, "depth", 0) == 50);
    CHECK(sdk::get(o, "rate", 0.0) == 0.25);
    CHECK(sdk::get(o, "link.name", "") == "v1.5");
    CHECK(sdk::get_reals(o, "means") == std::vector<double>{0.5, 1e30});
    CHECK(sdk::get_texts(o, "files") == std::vector<std::string>{"a b", "", "c"});
    const convoy::Option* sizes = sdk::find(o, "sizes");
    REQUIRE(sizes != nullptr);
    REQUIRE(sizes->type == OptionType::integers);
    REQUIRE(sizes->li.n == 2);
    CHECK(sizes->li.p[1] == -2);
    for (uint32_t i = 0; i < 7; ++i) CHECK(o.items[i].type == static_cast<OptionType>(i + 1));
  }

  TEST_CASE("the view keeps its own copies") {
    OptionList list{{"name", std::string("a text too long for the small buffer of a string")},
                    {"names", std::vector<std::string>{"another text too long for a small buffer", "x"}}};
    const AbiOptions abi(list, "sync");
    list.clear();
    list.shrink_to_fit();
    CHECK(sdk::get(abi.view(), "name", "") == "a text too long for the small buffer of a string");
    CHECK(sdk::get_texts(abi.view(), "names").at(0) == "another text too long for a small buffer");
  }

  TEST_CASE("several lists of texts do not disturb each other") {
    const AbiOptions abi({{"a", std::vector<std::string>{"1", "2"}}, {"b", std::vector<std::string>{}}, {"c", std::vector<std::string>{"3"}}}, "t");
    CHECK(sdk::get_texts(abi.view(), "a") == std::vector<std::string>{"1", "2"});
    CHECK(sdk::get_texts(abi.view(), "b").empty());
    CHECK(sdk::get_texts(abi.view(), "c") == std::vector<std::string>{"3"});
  }

  TEST_CASE("no options is a view without rows") {
    const AbiOptions abi({}, "comm");
    CHECK(abi.view().items.n == 0);
    CHECK(sdk::find(abi.view(), "anything") == nullptr);
    CHECK_FALSE(std::is_copy_constructible_v<AbiOptions>);
  }
}
