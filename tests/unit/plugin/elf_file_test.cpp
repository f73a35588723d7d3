// The ELF reader on a real plugin, and on thousands of damaged copies of it: an error or facts, never anything else.
#include "plugin/elf_file.hpp"

#include "error.hpp"
#include "plugins/plugin_folder.hpp"

#include <doctest/doctest.h>

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

using convoy::Error;
using convoy::plugin::ElfFacts;
using convoy::plugin::parse_elf;

namespace {

using Bytes = std::vector<unsigned char>;

constexpr std::size_t kStep = 64;  // bytes; the size of a section header, so that every header is hit

const Bytes& plugin_bytes() {
  static const Bytes bytes = [] {
    const std::string text = convoy::testing::bytes_of(convoy::testing::PluginFolder::built("plain"));
    return Bytes(text.begin(), text.end());
  }();
  return bytes;
}

/// True where the file was refused; what is thrown must be the reader's own error.
bool refused(const Bytes& bytes) {
  try {
    parse_elf(bytes, "copy.convoy.so");
    return false;
  } catch (const Error& e) {
    CHECK(e.number() == "P208");
    CHECK(std::string(e.what()).find("copy.convoy.so") == 0);
    return true;
  }
}

std::string reason(const Bytes& bytes) {
  try {
    parse_elf(bytes, "f");
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

Elf64_Ehdr header_of(const Bytes& bytes) {
  Elf64_Ehdr h;
  std::memcpy(&h, bytes.data(), sizeof h);
  return h;
}

}  // namespace

TEST_SUITE("ELF reader") {
  TEST_CASE("a real plugin gives its manifest, build id, needed libraries and run path") {
    const ElfFacts facts = parse_elf(plugin_bytes(), "plain.convoy.so");
    REQUIRE(facts.manifest);
    CHECK(facts.manifest->rfind("CONVOYMANIFEST 1\n", 0) == 0);
    CHECK(facts.manifest->find("\nprovides=model:plain\n") != std::string::npos);
    CHECK(facts.build_id.size() == 40);  // sha1, in hex
    CHECK(facts.build_id.find_first_not_of("0123456789abcdef") == std::string::npos);
    CHECK(std::count(facts.needed.begin(), facts.needed.end(), "libc.so.6") == 1);
    CHECK(facts.run_path == "$ORIGIN");
  }

  TEST_CASE("a file cut at any length is refused or read, and never read beyond its end") {
    const Bytes& whole = plugin_bytes();
    REQUIRE(whole.size() > 4096);
    std::size_t refusals = 0, tries = 0;
    for (std::size_t n = 0; n < whole.size(); n += kStep, ++tries)
      refusals += refused(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n))) ? 1 : 0;
    // The section table closes the file, so that no cut copy has it.
    CHECK(refusals == tries);
  }

  TEST_CASE("a flipped bit anywhere gives an error or facts, never a crash") {
    Bytes copy = plugin_bytes();
    std::size_t refusals = 0, reads = 0;
    for (std::size_t at = 0; at < copy.size(); at += kStep) {
      for (int bit = 0; bit < 8; ++bit) {
        copy[at + static_cast<std::size_t>(bit) % std::min(kStep, copy.size() - at)] ^= static_cast<unsigned char>(1 << bit);
        (refused(copy) ? refusals : reads) += 1;
        copy[at + static_cast<std::size_t>(bit) % std::min(kStep, copy.size() - at)] ^= static_cast<unsigned char>(1 << bit);
      }
    }
    CHECK(refusals > 0);
    CHECK(reads > refusals);  // most bytes are code
  }

  TEST_CASE("every byte of the header and of the section table set to 0 or 255 gives an error or facts") {
    const Elf64_Ehdr h = header_of(plugin_bytes());
    const std::size_t table_end = h.e_shoff + std::size_t{h.e_shnum} * h.e_shentsize;
    REQUIRE(table_end <= plugin_bytes().size());
    Bytes copy = plugin_bytes();
    std::size_t refusals = 0;
    const auto damage = [&](std::size_t at) {
      const unsigned char before = copy[at];
      for (unsigned char wrong : {0x00, 0xff}) {
        copy[at] = wrong;
        refusals += refused(copy) ? 1 : 0;
      }
      copy[at] = before;
    };
    for (std::size_t at = 0; at < sizeof(Elf64_Ehdr); ++at) damage(at);
    for (std::size_t at = h.e_shoff; at < table_end; ++at) damage(at);
    CHECK(refusals > 0);
  }

  TEST_CASE("an offset near the end of 64 bits does not wrap around") {
    Bytes copy = plugin_bytes();
    Elf64_Ehdr h = header_of(copy);
    h.e_shoff = ~uint64_t{0} - 63;
    std::memcpy(copy.data(), &h, sizeof h);
    CHECK(reason(copy).find("damaged or cut short") != std::string::npos);
  }

  TEST_CASE("a section that claims to be as large as the address space is refused") {
    const Bytes& whole = plugin_bytes();
    const Elf64_Ehdr h = header_of(whole);
    std::size_t refusals = 0;
    for (std::size_t i = 0; i < h.e_shnum; ++i) {
      Bytes copy = whole;
      Elf64_Shdr s;
      unsigned char* at = copy.data() + h.e_shoff + i * sizeof s;
      std::memcpy(&s, at, sizeof s);
      s.sh_size = ~uint64_t{0};
      std::memcpy(at, &s, sizeof s);
      refusals += refused(copy) ? 1 : 0;
    }
    // Those whose contents are read: manifest, dynamic section, its strings, section names.
    CHECK(refusals == 4);
  }

  TEST_CASE("what is no library of this machine is refused with what it is") {
    CHECK(reason({}).find("it is not an ELF file") != std::string::npos);
    CHECK(reason(Bytes(4096, 'x')).find("it is not an ELF file") != std::string::npos);
    Bytes narrow = plugin_bytes();
    narrow[EI_CLASS] = ELFCLASS32;
    CHECK(reason(narrow).find("it is not a 64-bit little-endian library") != std::string::npos);
    Bytes foreign = plugin_bytes();
    Elf64_Ehdr h = header_of(foreign);
    h.e_machine = EM_RISCV;
    std::memcpy(foreign.data(), &h, sizeof h);
    CHECK(reason(foreign).find("another kind of processor") != std::string::npos);
    Bytes program = plugin_bytes();
    h = header_of(program);
    h.e_type = ET_EXEC;
    std::memcpy(program.data(), &h, sizeof h);
    CHECK(reason(program).find("it is not a shared library") != std::string::npos);
  }
}
