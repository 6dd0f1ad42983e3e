#include "runtime/elf_library.h"

#include <elf.h>

#include <cstring>

#include "sharding/error.h"

namespace tp {
namespace {

#if defined(__x86_64__)
constexpr unsigned kMachine = EM_X86_64;
#else
constexpr unsigned kMachine = EM_AARCH64;
#endif

class ElfReader {
 public:
  ElfReader(std::string_view bytes, const std::string& where) : bytes_(bytes), where_(where) {}

  ElfLibrary read() {
    const auto head = at<Elf64_Ehdr>(0);
    const bool elf = std::memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 && head.e_ident[EI_CLASS] == ELFCLASS64 &&
                     head.e_ident[EI_DATA] == ELFDATA2LSB && head.e_type == ET_DYN;
    if (!elf) fail("is no shared library");
    if (head.e_machine != kMachine) fail("is a library for another processor");
    if (head.e_shentsize != sizeof(Elf64_Shdr)) fail("has no table of its sections");
    for (size_t i = 0; i < head.e_shnum; ++i) {
      const auto section = at<Elf64_Shdr>(head.e_shoff, i);
      if (section.sh_type == SHT_DYNAMIC) read_needed(section, strings_of(head, section));
      if (section.sh_type == SHT_DYNSYM) read_symbols(section, strings_of(head, section));
    }
    return std::move(library_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error(where_, what, "get the kernel again"); }

  // The index-th T of a table.
  template <typename T>
  T at(uint64_t offset, uint64_t index = 0) const {
    const uint64_t size = bytes_.size();
    if (offset > size || index >= (size - offset) / sizeof(T)) fail("is damaged: a table leads out of the file");
    T value;
    std::memcpy(&value, bytes_.data() + offset + index * sizeof(T), sizeof(T));
    return value;
  }

  std::string_view strings_of(const Elf64_Ehdr& head, const Elf64_Shdr& section) const {
    if (section.sh_link >= head.e_shnum) fail("is damaged: a table has no names");
    const auto strings = at<Elf64_Shdr>(head.e_shoff, section.sh_link);
    if (strings.sh_offset > bytes_.size() || strings.sh_size > bytes_.size() - strings.sh_offset)
      fail("is damaged: a table leads out of the file");
    return bytes_.substr(strings.sh_offset, strings.sh_size);
  }

  static std::string string_at(std::string_view strings, uint64_t offset) {
    if (offset >= strings.size()) return "";
    const std::string_view rest = strings.substr(offset);
    return std::string(rest.substr(0, rest.find('\0')));
  }

  void read_needed(const Elf64_Shdr& section, std::string_view strings) {
    for (uint64_t i = 0; i < section.sh_size / sizeof(Elf64_Dyn); ++i) {
      const auto entry = at<Elf64_Dyn>(section.sh_offset, i);
      if (entry.d_tag == DT_NULL) return;
      if (entry.d_tag == DT_NEEDED) library_.needed.push_back(string_at(strings, entry.d_un.d_val));
    }
  }

  void read_symbols(const Elf64_Shdr& section, std::string_view strings) {
    for (uint64_t i = 1; i < section.sh_size / sizeof(Elf64_Sym); ++i) {
      const auto symbol = at<Elf64_Sym>(section.sh_offset, i);
      if (symbol.st_shndx == SHN_UNDEF && ELF64_ST_BIND(symbol.st_info) == STB_GLOBAL)
        library_.undefined.push_back(string_at(strings, symbol.st_name));
    }
  }

  std::string_view bytes_;
  const std::string& where_;
  ElfLibrary library_;
};

}  // namespace

ElfLibrary read_elf_library(std::string_view bytes, const std::string& where) {
  return ElfReader(bytes, where).read();
}

}  // namespace tp
