// manifest.json through another parser, and the machine against what the system says.
#include "record/manifest.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "record/machine.hpp"
#include "scratch_folder.hpp"
#include "sha256.hpp"

using namespace convoy::record;
using namespace convoy::record::test;

TEST_SUITE_BEGIN("record");

TEST_CASE("a manifest holds what a repetition would have to match") {
  Manifest manifest;
  manifest.convoy_version = "0.1.0";
  manifest.source = "git 1a2b3c4";
  manifest.seed = ~0ull;
  manifest.argv = {"runner", "a \"b\".toml"};
  manifest.started = 1'000'000'000;
  manifest.experiment = "[run]\n";
  manifest.plugins = {{"device:cpu", "cpu", "0.1.0", "ab12", "cd34", "/lib/cpu.convoy.so"}};
  manifest.environment = {{"OMP_NUM_THREADS", "2"}};
  manifest.more.add("threads", 2);
  const ScratchFolder folder;
  write_manifest(folder / "manifest.json", manifest);
  const auto object = nlohmann::json::parse(content_of(folder / "manifest.json"));
  CHECK(object["convoy"] == "0.1.0");
  CHECK(object["source"] == "git 1a2b3c4");
  CHECK(object["seed"] == ~0ull);
  CHECK(object["argv"] == nlohmann::json{"runner", "a \"b\".toml"});
  CHECK(object["plugins"][0]["build_id"] == "ab12");
  CHECK(object["plugins"][0]["provides"] == "device:cpu");
  CHECK(object["environment"]["OMP_NUM_THREADS"] == "2");
  CHECK(object["experiment_xxh3_128"] == experiment_hash("[run]\n"));
  CHECK(object["program_sha256"] == convoy::sha256_hex(content_of("/proc/self/exe")));
  CHECK(object["threads"] == 2);
  CHECK(object["abi"].get<std::string>().find('.') != std::string::npos);
  CHECK(object["machine"]["cores"] >= 1);
  CHECK(object["libraries"].is_array());
  CHECK_FALSE(object["compiler"].get<std::string>().empty());
}

TEST_CASE("the start is local time with its offset") {
  const char* set = std::getenv("TZ");
  const std::string kept = set != nullptr ? set : "";
  ::setenv("TZ", "XYZ-5:30", 1);  // POSIX: five and a half hours east
  ::tzset();
  CHECK(iso_time(1'000'000'000) == "2001-09-09T07:16:40+05:30");
  set != nullptr ? ::setenv("TZ", kept.c_str(), 1) : ::unsetenv("TZ");
  ::tzset();
}

TEST_CASE("experiment hashes are XXH3-128 as other tools print it") {
  // Of `printf '' | xxhsum -H2` and `printf abc | xxhsum -H2`.
  CHECK(experiment_hash("") == "99aa06d3014798d86001c324468d497f");
  CHECK(experiment_hash("abc") == "06b05ab6733a618578af5f94892f3950");
}

TEST_CASE("the machine is described as the system describes it") {
  const Machine machine = this_machine();
  CHECK(machine.cores >= 1);
  CHECK(machine.cores <= machine.cores_online);
  CHECK(machine.memory_bytes > 1 << 20);
  CHECK(machine.kernel.starts_with("Linux "));
  CHECK_FALSE(machine.hostname.empty());
#if defined(__x86_64__)
  CHECK_FALSE(machine.cpu_model.empty());
  const auto listed = [&](const char* name) {
    return std::find(machine.isa.begin(), machine.isa.end(), name) != machine.isa.end();
  };
  CHECK(listed("avx2") == (__builtin_cpu_supports("avx2") != 0));
  CHECK(listed("fma") == (__builtin_cpu_supports("fma") != 0));
  CHECK(listed("avx512f") == (__builtin_cpu_supports("avx512f") != 0));
#endif
}

TEST_CASE("mapped libraries are told once each, without the runtimes") {
  const char* maps =
      "55d0 r-xp 00000000 fe:01 123  /usr/bin/runner\n"
      "7f01-7f02 r--p 00000000 fe:01 124                        /usr/lib/x86_64-linux-gnu/libdnnl.so.2.6\n"
      "7f02-7f03 r-xp 00001000 fe:01 124                        /usr/lib/x86_64-linux-gnu/libdnnl.so.2.6\n"
      "7f03-7f04 r-xp 00001000 fe:01 125                        /opt/my libs/cpu.convoy.so (deleted)\n"
      "7f04-7f05 r-xp 00001000 fe:01 126                        /usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0\n"
      "7f05-7f06 r-xp 00001000 fe:01 127                        /usr/lib/x86_64-linux-gnu/libc.so.6\n"
      "7f05-7f06 r-xp 00001000 fe:01 127                        /usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30\n"
      "7f05-7f06 r-xp 00001000 fe:01 127                        /usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2\n"
      "7f06-7f07 rw-p 00000000 00:00 0                          [heap]\n"
      "7f06-7f07 rw-p 00000000 00:00 0\n"
      "7f06-7f07 r--p 00000000 fe:01 128                        /usr/share/notes.solution\n";
  CHECK(libraries_in_maps(maps) == std::vector<std::string>{"/opt/my libs/cpu.convoy.so",
                                                            "/usr/lib/x86_64-linux-gnu/libdnnl.so.2.6",
                                                            "/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0"});
  CHECK(libraries_in_maps("").empty());
}

TEST_CASE("variables are found by the start of their names") {
  ::setenv("CONVOY_TEST_B", "2=3", 1);
  ::setenv("CONVOY_TEST_A", "", 1);
  const auto found = environment_with({"CONVOY_TEST_"});
  REQUIRE(found.size() == 2);
  CHECK(found[0] == std::pair<std::string, std::string>("CONVOY_TEST_A", ""));
  CHECK(found[1] == std::pair<std::string, std::string>("CONVOY_TEST_B", "2=3"));
  ::unsetenv("CONVOY_TEST_A");
  ::unsetenv("CONVOY_TEST_B");
}

TEST_SUITE_END();
