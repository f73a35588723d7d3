// The loader's sentences in our words. The sentences are glibc's own, as dlerror() gives them.
#include "plugin/library.hpp"

#include "plugins/plugin_folder.hpp"

#include <doctest/doctest.h>

#include <string>

using convoy::Error;
using convoy::plugin::explain_loader;

namespace {

std::string note(const Error& e, const std::string& label) {
  for (const auto& [l, text] : e.notes())
    if (l == label) return text;
  return "";
}

}  // namespace

TEST_SUITE("the loader's words") {
  TEST_CASE("an undefined symbol is P301 and named") {
    const Error e = explain_loader("acme", "/opt/acme/fast.convoy.so: undefined symbol: acme_kernel_v2");
    CHECK(e.number() == "P301");
    CHECK(std::string(e.what()) == "'acme' could not be loaded: undefined symbol acme_kernel_v2");
    CHECK(note(e, "fix") == "the library is incomplete; tell its author to link with -z defs");
  }

  TEST_CASE("an undefined symbol with a version is named without it") {
    const Error e = explain_loader("acme", "/opt/a.so: undefined symbol: cudnnCreate, version libcudnn.so.9");
    CHECK(std::string(e.what()) == "'acme' could not be loaded: undefined symbol cudnnCreate");
  }

  TEST_CASE("a version that a library lacks is P302, with the newest that it has") {
    const Error e = explain_loader("acme", "/nowhere/libstdc++.so.6: version `GLIBCXX_3.4.99' not found (required by /opt/a.so)");
    CHECK(e.number() == "P302");
    CHECK(std::string(e.what()) == "'acme' needs GLIBCXX_3.4.99; this system's libstdc++.so.6 does not have it");
    CHECK(note(e, "cause").find("(required by /opt/a.so)") != std::string::npos);
    CHECK(note(e, "fix") == "a build made on an older distribution, or a newer libstdc++.so.6");
  }

  TEST_CASE("the newest version that a library has is found by number, whatever else its file holds") {
    convoy::testing::PluginFolder folder;
    using namespace std::string_literals;
    const auto file = folder.write("libx.so.1", "\0ACME_1.9\0ACME_1.10\0ACME_99999999999\0ACME_PRIVATE\0ACME_1.2\0ACME_"s).string();
    const Error e = explain_loader("p", file + ": version `ACME_2.0' not found (required by /opt/a.so)");
    CHECK(std::string(e.what()) == "'p' needs ACME_2.0; this system's libx.so.1 stops at 99999999999");
    folder.write("libx.so.1", "\0ACME_1.9\0ACME_1.10\0ACME_1.2\0"s);
    CHECK(std::string(explain_loader("p", file + ": version `ACME_2.0' not found").what()) == "'p' needs ACME_2.0; this system's libx.so.1 stops at 1.10");
  }

  TEST_CASE("a missing library is P206 and named") {
    const Error e = explain_loader("mpi", "libmpi.so.40: cannot open shared object file: No such file or directory");
    CHECK(e.number() == "P206");
    CHECK(std::string(e.what()) == "'mpi' needs libmpi.so.40, which the system loader cannot find");
    CHECK(note(e, "fix").find("install") == 0);
    CHECK(std::string(explain_loader("mpi", "/opt/my libs: [1]/lib(x).so: cannot open shared object file: No such file").what()) ==
          "'mpi' needs /opt/my libs: [1]/lib(x).so, which the system loader cannot find");
  }

  TEST_CASE("no static TLS left is P305, with the library and the setting that helps") {
    const Error e = explain_loader("acme", "/opt/acme/libfoo.so.1: cannot allocate memory in static TLS block");
    CHECK(e.number() == "P305");
    CHECK(std::string(e.what()) == "'acme' needs static TLS and none is left (libfoo.so.1)");
    CHECK(note(e, "fix") == "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=4096 runner ...");
  }

  TEST_CASE("a sentence that is not known is passed on whole") {
    const Error e = explain_loader("acme", "/opt/a.so: ELF load command past end of file");
    CHECK(std::string(e.what()) == "'acme' could not be loaded: /opt/a.so: ELF load command past end of file");
  }

  TEST_CASE("every explanation is a plugin's fault, exit code 4") {
    for (const char* text : {"x: undefined symbol: y", "x: undefined symbol: ", "x: version `' not found", "x: version `Q", ": version `A_1' not found", "x.so: cannot open shared object file: No such file", "nonsense", ""})
      CHECK(explain_loader("acme", text).exit_code() == 4);
  }
}
