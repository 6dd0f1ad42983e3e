#include "sharding/plans_dir.h"

#include <system_error>

#include "sharding/error.h"

namespace tp {

std::filesystem::path plans_dir() {
  std::error_code error;
  const std::filesystem::path executable = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) throw Error("", "the program cannot find its own file: " + error.message());
  return plans_dir_of(executable);
}

std::filesystem::path plans_dir_of(const std::filesystem::path& executable) {
  const std::filesystem::path bin = executable.parent_path();
  std::error_code error;
  const std::filesystem::path installed = bin.parent_path() / "share" / "tprun" / "plans";
  if (std::filesystem::is_directory(installed, error)) return installed;
  for (std::filesystem::path dir = bin; dir.has_relative_path(); dir = dir.parent_path()) {
    if (std::filesystem::exists(dir / "plans" / "README.md", error)) return dir / "plans";
  }
  throw Error(installed.string(), "the default plans are not there", "install tprun again with `cmake --install`");
}

}  // namespace tp
