#include "launcher/program_path.h"

#include <unistd.h>

#include <vector>

#include "launcher/options_environment.h"
#include "sharding/error.h"

namespace tp {
namespace fs = std::filesystem;
namespace {

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

fs::path own_directory() {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error) throw Error("/proc/self/exe", error.message(), "tprun needs /proc");
  return self.parent_path();
}

}  // namespace

std::optional<fs::path> find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return is_program(name) ? std::optional<fs::path>(name) : std::nullopt;
  std::string left = environment("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  while (!name.empty()) {
    const size_t colon = left.find(':');
    const std::string dir = left.substr(0, colon);
    const fs::path candidate = fs::path(dir.empty() ? "." : dir) / name;
    if (is_program(candidate)) return candidate;
    if (colon == std::string::npos) break;
    left = left.substr(colon + 1);
  }
  return std::nullopt;
}

fs::path own_program(const std::string& name) {
  const fs::path here = own_directory();
  // Installed: all in bin/. Build tree: launcher/ and runtime/ side by side.
  for (const fs::path& dir : {here, here.parent_path() / "libexec" / "tprun", here.parent_path() / "runtime"}) {
    if (is_program(dir / name)) return dir / name;
  }
  throw Error(here / name, "is missing", "install tprun again, or build the whole project");
}

fs::path plans_directory() {
  const fs::path installed = own_directory().parent_path() / "share" / "tprun" / "plans";
  std::error_code ignored;
  return fs::is_directory(installed, ignored) ? installed : fs::path(TPRUN_PLANS_DIR);
}

}  // namespace tp
