#include "runtime/elf_library.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sharding/error.h"
#include "sharding/json_document.h"

namespace tp {
namespace {

using testing::Contains;

// A program that can be loaded anywhere is a library as far as its tables go.
std::string own_program() {
  return read_text_file("/proc/self/exe", int64_t{1} << 30);
}

std::string refusal(const std::string& bytes) {
  try {
    read_elf_library(bytes, "x.so");
  } catch (const Error& error) {
    return error.text();
  }
  return "taken";
}

TEST(ElfLibrary, NamesWhatItNeeds) {
  const ElfLibrary library = read_elf_library(own_program(), "x.so");
  EXPECT_THAT(library.needed, Contains("libstdc++.so.6"));
  EXPECT_THAT(library.undefined, Contains("_Znwm"));
}

TEST(ElfLibrary, RefusesWhatIsNone) {
  EXPECT_EQ(refusal(""), "x.so: is damaged: a table leads out of the file\n  fix: get the kernel again");
  EXPECT_EQ(refusal(std::string(100, 'x')), "x.so: is no shared library\n  fix: get the kernel again");
  std::string other = own_program().substr(0, 64);
  other[18] = 8;  // e_machine: MIPS
  EXPECT_EQ(refusal(other), "x.so: is a library for another processor\n  fix: get the kernel again");
}

// The section headers stand at the end.
TEST(ElfLibrary, RefusesAFileThatIsCutOff) {
  const std::string whole = own_program();
  for (size_t parts = 1; parts < 50; ++parts)
    EXPECT_EQ(refusal(whole.substr(0, whole.size() * parts / 50)),
              "x.so: is damaged: a table leads out of the file\n  fix: get the kernel again");
}

}  // namespace
}  // namespace tp
