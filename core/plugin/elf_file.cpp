#include "plugin/elf_file.hpp"

#include "error.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <functional>

namespace convoy::plugin {

namespace {

constexpr uint64_t kLargestManifest = 1 << 16;
constexpr uint64_t kLongestName = 4096;  // bytes; of a section, a library or a run path
// Bounds what a hostile table can make us gather; the largest real libraries need a few dozen.
constexpr std::size_t kMostNeeded = 1024;
constexpr uint64_t kLargestDynamic = 1 << 20;

/// Copies `n` bytes from `offset` of the file; false where it cannot.
using ReadAt = std::function<bool(uint64_t offset, void* out, uint64_t n)>;

class Elf {
 public:
  Elf(ReadAt read, uint64_t size, const std::string& path) : read_(std::move(read)), size_(size), path_(path) {}

  ElfFacts facts() {
    read_header();
    ElfFacts out;
    for (const Elf64_Shdr& s : sections_) {
      const std::string name = string_at(names_, s.sh_name);
      if (name == ".convoy_manifest") out.manifest = manifest_text(s);
      if (name == ".note.gnu.build-id") out.build_id = build_id(s);
      if (s.sh_type == SHT_DYNAMIC) read_dynamic(s, out);
    }
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error(ErrorKind::plugin, fmt::format("{} is not a plugin: {}", path_, why), "P208")
        .note("fix", "build it with convoy_add_plugin()");
  }

  void need(uint64_t offset, uint64_t size) const {
    if (offset > size_ || size > size_ - offset) refuse("the file is damaged or cut short");
  }

  void copy(uint64_t offset, void* out, uint64_t n) const {
    need(offset, n);
    if (!read_(offset, out, n)) refuse("the file is damaged or cut short");
  }

  template <class T>
  T at(uint64_t offset) const {
    T out;
    copy(offset, &out, sizeof(T));
    return out;
  }

  void read_header() {
    unsigned char mark[EI_NIDENT] = {};
    if (size_ >= sizeof mark) copy(0, mark, sizeof mark);
    if (std::memcmp(mark, ELFMAG, SELFMAG) != 0) refuse("it is not an ELF file");
    if (mark[EI_CLASS] != ELFCLASS64 || mark[EI_DATA] != ELFDATA2LSB) refuse("it is not a 64-bit little-endian library");
    const auto h = at<Elf64_Ehdr>(0);
    if (h.e_machine != native_machine()) refuse("it was built for another kind of processor");
    if (h.e_type != ET_DYN) refuse("it is not a shared library");
    if (h.e_shentsize != sizeof(Elf64_Shdr)) refuse("it has no section table");
    for (uint64_t i = 0; i < h.e_shnum; ++i) sections_.push_back(at<Elf64_Shdr>(offset_of(h.e_shoff, i)));
    if (h.e_shstrndx >= sections_.size()) refuse("it has no section names");
    names_ = sections_[h.e_shstrndx];
  }

  uint64_t offset_of(uint64_t table, uint64_t index) const {
    if (table > size_) refuse("the file is damaged or cut short");
    return table + index * sizeof(Elf64_Shdr);
  }

  static uint16_t native_machine() {
#if defined(__x86_64__)
    return EM_X86_64;
#elif defined(__aarch64__)
    return EM_AARCH64;
#else
#error "state this machine's ELF number"
#endif
  }

  /// The text that begins at `offset`, up to its end mark or the end of `n` bytes.
  std::string text_at(uint64_t offset, uint64_t n) const {
    need(offset, n);
    std::string out(std::min(n, kLongestName), '\0');
    copy(offset, out.data(), out.size());
    out.resize(strnlen(out.data(), out.size()));
    return out;
  }

  std::string string_at(const Elf64_Shdr& table, uint64_t offset) const {
    need(table.sh_offset, table.sh_size);
    if (offset >= table.sh_size) refuse("a name lies outside its table");
    return text_at(table.sh_offset + offset, table.sh_size - offset);
  }

  std::string manifest_text(const Elf64_Shdr& s) const {
    if (s.sh_type == SHT_NOBITS) refuse("its manifest section is empty");
    need(s.sh_offset, s.sh_size);
    if (s.sh_size > kLargestManifest) refuse("its manifest is larger than 64 KiB");
    std::string out(s.sh_size, '\0');
    copy(s.sh_offset, out.data(), out.size());
    out.resize(strnlen(out.data(), out.size()));
    return out;
  }

  std::string build_id(const Elf64_Shdr& s) const {
    const auto note = at<Elf64_Nhdr>(s.sh_offset);
    const uint64_t start = s.sh_offset + sizeof note + ((uint64_t{note.n_namesz} + 3) & ~uint64_t{3});
    if (note.n_descsz > 64) return "";
    unsigned char id[64];
    copy(start, id, note.n_descsz);
    std::string hex;
    for (uint32_t i = 0; i < note.n_descsz; ++i) hex += fmt::format("{:02x}", id[i]);
    return hex;
  }

  void read_dynamic(const Elf64_Shdr& s, ElfFacts& out) const {
    if (s.sh_link >= sections_.size()) refuse("its dynamic section has no strings");
    const Elf64_Shdr& strings = sections_[s.sh_link];
    need(s.sh_offset, s.sh_size);
    if (s.sh_size > kLargestDynamic) refuse("its dynamic section is larger than 1 MiB");
    for (uint64_t at_byte = 0; at_byte + sizeof(Elf64_Dyn) <= s.sh_size; at_byte += sizeof(Elf64_Dyn)) {
      const auto d = at<Elf64_Dyn>(s.sh_offset + at_byte);
      if (d.d_tag == DT_NULL) break;
      if (d.d_tag == DT_NEEDED && out.needed.size() == kMostNeeded) refuse("it needs more libraries than any real one");
      if (d.d_tag == DT_NEEDED) out.needed.push_back(string_at(strings, d.d_un.d_val));
      if (d.d_tag == DT_RUNPATH || d.d_tag == DT_RPATH) out.run_path = string_at(strings, d.d_un.d_val);
    }
  }

  ReadAt read_;
  uint64_t size_;
  const std::string& path_;
  std::vector<Elf64_Shdr> sections_;
  Elf64_Shdr names_{};
};

}  // namespace

ElfFacts read_elf(const PluginFile& file, const std::string& path) {
  const auto read = [&](uint64_t offset, void* out, uint64_t n) { return file.copy(offset, out, n); };
  return Elf(read, file.identity().bytes, path).facts();
}

ElfFacts parse_elf(const std::vector<unsigned char>& bytes, const std::string& path) {
  const auto read = [&](uint64_t offset, void* out, uint64_t n) { return std::memcpy(out, bytes.data() + offset, n), true; };
  return Elf(read, bytes.size(), path).facts();
}

}  // namespace convoy::plugin
