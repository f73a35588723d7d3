// The manifest's text: what is read from it, and what is said about a wrong one.
#include "plugin/manifest.hpp"

#include "error.hpp"

#include <doctest/doctest.h>

#include <string>

using convoy::Error;
using convoy::Kind;
using convoy::plugin::Manifest;
using convoy::plugin::parse_manifest;
using convoy::plugin::Provided;

namespace {

const std::string kWhole =
    "CONVOYMANIFEST 1\nname=acme_fast\nversion=0.4.1\nvendor=Acme\nprovides=device:acme;comm:acmelink\n"
    "toolchain=g++ 12.2\nsource=git 1a2b3c4\nabi=1\nabi_min_minor=2\nopset=3\nisa=avx2,fma\nsanitizer=address\n"
    "global_libs=libacme.so.1\nlaunch_env=ACME_RANK,ACME_SIZE\n";

/// The complete manifest with one piece replaced.
std::string with(const std::string& piece, const std::string& instead) {
  std::string text = kWhole;
  const auto at = text.find(piece);
  REQUIRE(at != std::string::npos);
  return text.replace(at, piece.size(), instead);
}

std::string refusal(const std::string& text) {
  try {
    parse_manifest(text, "/opt/acme/fast.convoy.so");
  } catch (const Error& e) {
    CHECK(e.number() == "P208");
    CHECK(e.kind() == convoy::ErrorKind::plugin);
    CHECK(std::string(e.what()).find("/opt/acme/fast.convoy.so is not a plugin: its manifest ") == 0);
    return e.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& words) { return refusal(text).find(words) != std::string::npos; }

}  // namespace

TEST_SUITE("manifest") {
  TEST_CASE("every key arrives where it belongs") {
    const Manifest m = parse_manifest(kWhole, "f");
    CHECK(m.name == "acme_fast");
    CHECK(m.version == "0.4.1");
    CHECK(m.vendor == "Acme");
    CHECK(m.provides == std::vector<Provided>{{Kind::device, "acme"}, {Kind::comm, "acmelink"}});
    CHECK(m.toolchain == "g++ 12.2");
    CHECK(m.source == "git 1a2b3c4");
    CHECK(m.abi == 1);
    CHECK(m.abi_min_minor == 2);
    CHECK(m.opset == 3);
    CHECK(m.isa == std::vector<std::string>{"avx2", "fma"});
    CHECK(m.sanitizer == "address");
    CHECK(m.global_libs == std::vector<std::string>{"libacme.so.1"});
    CHECK(m.launch_env == std::vector<std::string>{"ACME_RANK", "ACME_SIZE"});
  }

  TEST_CASE("keys of a newer build are left alone, and lists may be empty") {
    const Manifest m = parse_manifest(with("isa=avx2,fma\n", "isa=\nflavour=mint\n"), "f");
    CHECK(m.isa.empty());
    CHECK(m.opset == 3);
  }

  TEST_CASE("a manifest that says nothing about a sanitizer was built without one") {
    CHECK(parse_manifest(with("sanitizer=address\n", ""), "f").sanitizer == "none");
  }

  TEST_CASE("an equals sign in a value belongs to the value") {
    CHECK(parse_manifest(with("source=git 1a2b3c4", "source=git a=b"), "f").source == "git a=b");
  }

  TEST_CASE("another first line is refused") {
    CHECK(says("", "does not begin with 'CONVOYMANIFEST 1'"));
    CHECK(says(with("CONVOYMANIFEST 1", "CONVOYMANIFEST 2"), "does not begin with 'CONVOYMANIFEST 1'"));
  }

  TEST_CASE("a line without a key is quoted") {
    CHECK(says(with("vendor=Acme", "vendor Acme"), "has the line 'vendor Acme'; key=value is expected"));
    CHECK(says(with("vendor=Acme", "=Acme"), "has the line '=Acme'"));
  }

  TEST_CASE("a key that is said twice is refused") { CHECK(says(kWhole + "name=other\n", "says 'name' twice")); }

  TEST_CASE("a manifest without a name, or with nothing provided, is refused") {
    CHECK(says(with("name=acme_fast\n", ""), "has no name"));
    CHECK(says(with("provides=device:acme;comm:acmelink\n", ""), "provides nothing"));
    CHECK(says(with("provides=device:acme;comm:acmelink", "provides=;"), "provides nothing"));
  }

  TEST_CASE("what is provided must be kind:name, each once") {
    CHECK(says(with("device:acme", "gadget:acme"), "provides 'gadget:acme'; kind:name is expected"));
    CHECK(says(with("device:acme", "device"), "provides 'device'; kind:name is expected"));
    CHECK(says(with("device:acme", "device:"), "provides 'device:'; kind:name is expected"));
    CHECK(says(with("comm:acmelink", "device:acme"), "provides 'device:acme' twice"));
  }

  TEST_CASE("a name that an experiment could not say, or that a terminal would obey, is refused") {
    CHECK(says(with("device:acme", "device:../acme"), "provides 'device:../acme'; a name is made of letters, digits and _ - . +"));
    CHECK(says(with("device:acme", "device:a b"), "a name is made of"));
    CHECK(says(with("name=acme_fast", "name=acme/fast"), "says name=acme/fast; a name is made of"));
    CHECK(says(with("vendor=Acme", "vendor=\x1b[2J"), "holds control characters"));
    CHECK(says(with("vendor=Acme", "vendor=Acme\r"), "holds control characters"));
    CHECK(refusal(with("vendor=Acme", "vendor=Søren & Łukasz")) == "");
    CHECK(refusal(with("device:acme", "device:acme-2.0_x+y")) == "");
  }

  TEST_CASE("a number that is none, negative, too large or absent is refused with what was written") {
    CHECK(says(with("abi=1\n", "abi=one\n"), "says abi=one; a number is expected"));
    CHECK(says(with("abi=1\n", "abi=-1\n"), "says abi=-1"));
    CHECK(says(with("abi=1\n", "abi=4294967296\n"), "says abi=4294967296"));
    CHECK(says(with("opset=3\n", "opset=3x\n"), "says opset=3x"));
    CHECK(says(with("abi_min_minor=2\n", ""), "says abi_min_minor=; a number is expected"));
  }

  TEST_CASE("the table of datasets is [data], of every other kind its own name") {
    CHECK(std::string(convoy::plugin::table_of(Kind::dataset)) == "data");
    for (Kind k : {Kind::model, Kind::device, Kind::comm, Kind::sync})
      CHECK(std::string(convoy::plugin::table_of(k)) == convoy::plugin::name_of(k));
  }
}
