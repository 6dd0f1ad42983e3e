#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tp {

// What a shared library says of itself before anything loads it (ELF, 64 bit, little endian).
struct ElfLibrary {
  std::vector<std::string> needed;     // libraries that it is linked to: "libtorch_cpu.so"
  std::vector<std::string> undefined;  // symbols that others must have; weak ones are not among them
};

// Reads the dynamic section of `bytes`, the whole file. Throws Error{where} for what is no library for this machine, or one
// whose tables lead out of the file.
ElfLibrary read_elf_library(std::string_view bytes, const std::string& where);

}  // namespace tp
