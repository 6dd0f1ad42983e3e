#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runtime/elf_library.h"

namespace tp {

// One build of a Hugging Face kernel, a directory build/VARIANT that kernel-builder made: a library of torch operators for one
// processor and one torch.
struct OperatorBuild {
  std::filesystem::path dir;      // build/torch213-cxx11-cpu-x86_64-linux
  std::filesystem::path library;  // the .so in it
  ElfLibrary elf;
  std::string id;  // namespace of its operators
  std::string name, version, license;
};

// The names of the builds in a package; none when it has no build/.
std::vector<std::string> build_names(const std::filesystem::path& package);

// What metadata.json of a build says; `library` stays empty. Throws Error.
OperatorBuild read_build_metadata(const std::filesystem::path& build);

// The package's build for the CPU and the torch of this tprun, after a look at its digests and at what the library needs.
// Throws Error: no build fits (other processors, another torch), a file is not what metadata.json says, it needs Python.
OperatorBuild find_operator_build(const std::filesystem::path& package);

}  // namespace tp
