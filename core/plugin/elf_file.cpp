#include "plugin/elf_file.hpp"

#include "error.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <cstring>
#include <fstream>

namespace convoy::plugin {

namespace {

constexpr uint64_t kLargestFile = uint64_t{4} << 30;  // bounds what a hostile folder can make us read
constexpr uint64_t kLargestManifest = 1 << 16;

class Elf {
 public:
  Elf(const std::vector<unsigned char>& bytes, const std::string& path) : bytes_(bytes), path_(path) {}

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
    if (offset > bytes_.size() || size > bytes_.size() - offset) refuse("the file is damaged or cut short");
  }

  template <class T>
  T at(uint64_t offset) const {
    need(offset, sizeof(T));
    T out;
    std::memcpy(&out, bytes_.data() + offset, sizeof(T));
    return out;
  }

  void read_header() {
    if (bytes_.size() < EI_NIDENT || std::memcmp(bytes_.data(), ELFMAG, SELFMAG) != 0) refuse("it is not an ELF file");
    if (bytes_[EI_CLASS] != ELFCLASS64 || bytes_[EI_DATA] != ELFDATA2LSB) refuse("it is not a 64-bit little-endian library");
    const auto h = at<Elf64_Ehdr>(0);
    if (h.e_machine != native_machine()) refuse("it was built for another kind of processor");
    if (h.e_type != ET_DYN) refuse("it is not a shared library");
    if (h.e_shentsize != sizeof(Elf64_Shdr)) refuse("it has no section table");
    for (uint64_t i = 0; i < h.e_shnum; ++i) sections_.push_back(at<Elf64_Shdr>(offset_of(h.e_shoff, i)));
    if (h.e_shstrndx >= sections_.size()) refuse("it has no section names");
    names_ = sections_[h.e_shstrndx];
  }

  uint64_t offset_of(uint64_t table, uint64_t index) const {
    if (table > bytes_.size()) refuse("the file is damaged or cut short");
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

  std::string string_at(const Elf64_Shdr& table, uint64_t offset) const {
    need(table.sh_offset, table.sh_size);
    if (offset >= table.sh_size) refuse("a name lies outside its table");
    const char* p = reinterpret_cast<const char*>(bytes_.data()) + table.sh_offset + offset;
    return {p, strnlen(p, table.sh_size - offset)};
  }

  std::string manifest_text(const Elf64_Shdr& s) const {
    if (s.sh_type == SHT_NOBITS) refuse("its manifest section is empty");
    need(s.sh_offset, s.sh_size);
    if (s.sh_size > kLargestManifest) refuse("its manifest is larger than 64 KiB");
    const char* p = reinterpret_cast<const char*>(bytes_.data()) + s.sh_offset;
    return {p, strnlen(p, s.sh_size)};
  }

  std::string build_id(const Elf64_Shdr& s) const {
    const auto note = at<Elf64_Nhdr>(s.sh_offset);
    const uint64_t start = s.sh_offset + sizeof note + ((uint64_t{note.n_namesz} + 3) & ~uint64_t{3});
    if (note.n_descsz > 64) return "";
    need(start, note.n_descsz);
    std::string hex;
    for (uint32_t i = 0; i < note.n_descsz; ++i) hex += fmt::format("{:02x}", bytes_[start + i]);
    return hex;
  }

  void read_dynamic(const Elf64_Shdr& s, ElfFacts& out) const {
    if (s.sh_link >= sections_.size()) refuse("its dynamic section has no strings");
    const Elf64_Shdr& strings = sections_[s.sh_link];
    need(s.sh_offset, s.sh_size);
    for (uint64_t at_byte = 0; at_byte + sizeof(Elf64_Dyn) <= s.sh_size; at_byte += sizeof(Elf64_Dyn)) {
      const auto d = at<Elf64_Dyn>(s.sh_offset + at_byte);
      if (d.d_tag == DT_NULL) break;
      if (d.d_tag == DT_NEEDED) out.needed.push_back(string_at(strings, d.d_un.d_val));
      if (d.d_tag == DT_RUNPATH || d.d_tag == DT_RPATH) out.run_path = string_at(strings, d.d_un.d_val);
    }
  }

  const std::vector<unsigned char>& bytes_;
  const std::string& path_;
  std::vector<Elf64_Shdr> sections_;
  Elf64_Shdr names_{};
};

}  // namespace

ElfFacts parse_elf(const std::vector<unsigned char>& bytes, const std::string& path) { return Elf(bytes, path).facts(); }

ElfFacts read_elf(const std::filesystem::path& path) {
  std::error_code ec;
  const uint64_t size = std::filesystem::file_size(path, ec);
  std::ifstream in(path, std::ios::binary);
  if (ec || !in) throw Error(ErrorKind::plugin, fmt::format("{} cannot be read", path.string()), "P208");
  if (size > kLargestFile) throw Error(ErrorKind::plugin, fmt::format("{} is larger than 4 GiB", path.string()), "P208");
  std::vector<unsigned char> bytes(size);
  in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  bytes.resize(static_cast<std::size_t>(in.gcount()));
  return parse_elf(bytes, path.string());
}

}  // namespace convoy::plugin
